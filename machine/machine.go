// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Config configures a [Machine].
type Config struct {
	// Table is the series' machine. It must be set.
	Table *states.Table
	// Node is the node as it is now. Its state must be set.
	Node Node
	// Name is the node's name or UUID, for transitions and errors. It may be empty.
	Name string
	// Token is the caller's; hooks get it in [Transition.Token]. With a pointer to the
	// revision of the record that Node was read from, a save hook can update the record
	// only if it still has that revision, and set the new one: see examples/embed.
	Token any

	// Guard hooks may refuse a transition: after the first error nothing has
	// happened. A guard can refuse, for instance, to abort a step that must not be
	// interrupted.
	Guard []Hook
	// Save hooks store the new node before it is visible. The first error refuses
	// the transition, and nothing has happened except the effects of earlier save hooks.
	// A save hook must end when its context does: other moves wait for it.
	Save []Hook
	// Exit and Enter hooks are called once the machine has moved, all of them even if
	// some fail. They run in the goroutine that moved the machine. The hooks of two
	// transitions made by two goroutines may run in any order or concurrently. If the
	// order matters, use a save hook.
	Exit, Enter []Hook

	// History is how many transitions [Machine.History] keeps; none if it is 0 or less.
	History int
	// Now is the clock for the times of transitions; nil is [time.Now]. It must not
	// use the machine.
	Now func() time.Time
}

// Hook is called with a transition that is about to happen (guard, save) or has
// happened (exit, enter). An exit or enter hook may fire the machine's next event. A
// guard or save hook must not: with the hook's own context the call is refused; with
// another context it blocks until that context ends.
type Hook func(context.Context, Transition) error

// Machine is a live node. Make it with [New]. It is safe for concurrent use. A nil Machine has no
// table and no node, and refuses every move.
type Machine struct {
	table     *states.Table
	name      string
	observers *observers // nil if there is neither a hook nor a history

	mu    sync.Mutex // guards the fields below and the history; never locked while a hook runs
	node  Node
	token any
	count uint64 // see Moves
}

// observers holds the hooks and the history of a machine that has any.
type observers struct {
	guard, save, exit, enter []Hook

	now     func() time.Time
	hooksMu chan struct{} // a mutex as a channel: full while guard and save hooks run; nil if there are none
	history history
}

// New makes the machine of a node. The errors are [*StateError]s, also for a nil
// table, and a [*ConfigError] for a nil hook. The hook slices of the Config must not change
// afterwards; machines may share them.
func New(c Config) (*Machine, error) {
	if err := c.Node.check(c.Table); err != nil {
		return nil, err
	}
	m := &Machine{table: c.Table, name: c.Name, node: c.Node, token: c.Token}
	if len(c.Guard)+len(c.Save)+len(c.Exit)+len(c.Enter) == 0 && c.History <= 0 {
		return m, nil
	}
	for _, hooks := range [...]struct {
		field string
		all   []Hook
	}{{"Guard", c.Guard}, {"Save", c.Save}, {"Exit", c.Exit}, {"Enter", c.Enter}} {
		if i := slices.IndexFunc(hooks.all, func(h Hook) bool { return h == nil }); i >= 0 {
			return nil, &ConfigError{Package: "machine", Field: fmt.Sprintf("%s[%d]", hooks.field, i), Want: "a function"}
		}
	}
	m.observers = &observers{
		guard: c.Guard, save: c.Save, exit: c.Exit, enter: c.Enter, now: c.Now, history: history{most: c.History},
	}
	if c.Now == nil {
		m.observers.now = time.Now
	}
	if len(c.Guard)+len(c.Save) > 0 {
		m.observers.hooksMu = make(chan struct{}, 1)
	}
	return m, nil
}

// Name returns the name that the machine was made with.
func (m *Machine) Name() string {
	if m == nil {
		return ""
	}
	return m.name
}

// Table returns the table that the machine was made with.
func (m *Machine) Table() *states.Table {
	if m == nil {
		return nil
	}
	return m.table
}

// Node returns the node as it is now. It never waits for a hook.
func (m *Machine) Node() Node {
	if m == nil {
		return Node{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node
}

// Moves returns how often the node was moved, or replaced by [Machine.SetNode] with one in another state or with
// another target. If the number is the same as before, the node has not been elsewhere meanwhile, which its state does
// not tell.
func (m *Machine) Moves() uint64 {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// SetNode replaces the machine's node and its token (see [Config]) after another writer,
// such as a second process, has changed the stored record. It waits for running guard and
// save hooks, and calls no hook. It returns the errors of [New] and, if the machine has
// such hooks, the error of a context that has ended before it has its turn. A call by a guard or save hook of the
// machine with the hook's context is refused.
//
// A node in another state or with another target ends the sequences of moves that others have begun; see [Sequence].
// They go on if only the last error or the token is new: the other writer has changed other parts of the record. A
// node that the other writer has moved away and back looks the same to SetNode. A caller whose records tell the two
// apart, for instance by the time of the last move, makes a new Machine instead: the store then refuses the sequences
// of the old one, whose save hooks have the old token.
func (m *Machine) SetNode(ctx context.Context, n Node, token any) error {
	if err := n.check(m.Table()); err != nil {
		return err
	}
	if m.observers != nil && m.observers.hooksMu != nil {
		if err := m.lockHooks(ctx); err != nil {
			return err
		}
		defer m.unlockHooks()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node.State != n.State || m.node.Target != n.Target {
		m.count++
	}
	m.node, m.token = n, token
	return nil
}

// History returns the last transitions, the oldest first, as many as
// Config.History asked for. The caller owns the slice.
func (m *Machine) History() []Transition {
	if m == nil || m.observers == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.observers.history.all()
}

// Can reports whether the table has a row for the event in the node's state. The node
// may move before the caller fires the event.
func (m *Machine) Can(event states.Event) bool {
	_, ok := m.Table().Next(m.Node().State, event)
	return ok
}

// Events ranges over the events for which the table has rows in the node's state at
// the start of the iteration.
func (m *Machine) Events() iter.Seq[states.Event] {
	return func(yield func(states.Event) bool) { m.Table().Events(m.Node().State)(yield) }
}

// history holds the last transitions of a machine.
type history struct {
	most int
	kept []Transition
	next int // the index that the next transition overwrites, once the slice is full
}

func (h *history) add(t Transition) {
	if len(h.kept) < h.most {
		h.kept = append(h.kept, t)
		return
	}
	h.kept[h.next] = t
	h.next = (h.next + 1) % h.most
}

// all returns the transitions, the oldest first.
func (h *history) all() []Transition {
	return slices.Concat(h.kept[h.next:], h.kept[:h.next])
}
