package machine

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Config is what a [Machine] is made from.
type Config struct {
	// Table is the series' machine. It must be set.
	Table *states.Table
	// Node is the node as it is now. Its state must be set.
	Node Node
	// Name says in transitions and errors whose machine this is: the node's name
	// or UUID. May be empty.
	Name string

	// Guard hooks may refuse a transition: the first error does, and nothing
	// has happened.
	Guard []Hook
	// Save hooks store the new node before anyone sees it. The first error
	// refuses the transition, and nothing has happened but for what the save
	// hooks before it did.
	Save []SaveHook
	// Exit and Enter hooks are told that the machine has moved, all of them
	// even when some fail.
	Exit, Enter []Hook

	// History is how many transitions [Machine.History] keeps; 0 keeps none.
	History int
	// Now is the clock; nil is [time.Now]. It must not use the machine.
	Now func() time.Time
}

// Hook is called with a transition that is about to happen (guard) or has
// happened (exit, enter). An exit or enter hook may fire the machine's next
// event. A guard must not: firing with the context it was given is refused with
// [ErrInTurn], firing with another waits for that context to end.
type Hook func(context.Context, Transition) error

// SaveHook stores a node that is about to move. Like a guard it must not fire at
// its machine.
type SaveHook func(ctx context.Context, from, to Node) error

// Machine is a live node. Make it with [New]; the methods of a nil or zero
// Machine return [ErrNotMade] or nothing. It is safe for concurrent use.
type Machine struct {
	table       *states.Table
	name        string
	guard       []Hook
	save        []SaveHook
	exit, enter []Hook
	now         func() time.Time

	turn turn // held by the one that is in guard and save hooks

	mu      sync.Mutex // guards what follows; never held while a hook runs
	node    Node
	history *history // nil where none is kept
}

// New makes the machine of a node. The errors are [ErrNoTable], [*StateError],
// [*TargetError] and [ErrHistory]. The hook slices must not change afterwards;
// machines may share them.
func New(c Config) (*Machine, error) {
	if err := c.Node.check(c.Table); err != nil {
		return nil, err
	}
	if c.History < 0 {
		return nil, ErrHistory
	}
	m := &Machine{
		table: c.Table,
		name:  c.Name,
		guard: c.Guard,
		save:  c.Save,
		exit:  c.Exit,
		enter: c.Enter,
		now:   c.Now,
		node:  c.Node,
	}
	if m.now == nil {
		m.now = time.Now
	}
	if c.History > 0 {
		m.history = &history{most: c.History}
	}
	return m, nil
}

func (m *Machine) made() bool { return m != nil && m.table != nil }

// Name returns the name that the machine was made with.
func (m *Machine) Name() string {
	if !m.made() {
		return ""
	}
	return m.name
}

// Node returns the node as it is now. It never waits for a hook.
func (m *Machine) Node() Node {
	if !m.made() {
		return Node{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node
}

// History returns the last transitions, the oldest first, as many as
// Config.History asked for. The slice is the caller's own.
func (m *Machine) History() []Transition {
	if !m.made() || m.history == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.all()
}

// Can reports whether the table has a row for the event in the node's state. By
// the time the caller fires it, the node may have moved.
func (m *Machine) Can(event states.Event) bool {
	if !m.made() {
		return false
	}
	_, ok := m.table.Next(m.Node().State, event)
	return ok
}

// Events ranges over the events that the table has rows for in the state that
// the node is in when ranging begins.
func (m *Machine) Events() iter.Seq[states.Event] {
	return func(yield func(states.Event) bool) {
		if m.made() {
			m.table.Events(m.Node().State)(yield)
		}
	}
}

// Fire moves the node by an event with which nothing comes; see
// [Machine.FireInput].
func (m *Machine) Fire(ctx context.Context, event states.Event) error {
	return m.FireInput(ctx, Input{Event: event})
}

// FireInput moves the node and runs the hooks, as the package comment says.
//
// The errors of [Node.Apply], the context's error, and a [*HookError] whose
// Moved is false mean that nothing has happened. A HookError whose Moved is true
// (several are joined) means that the node is in its new state and an exit or
// enter hook failed. A hook's panic is a [*PanicError] in a HookError.
//
// A context that ends before the save hooks have run stops the transition;
// later, it is for the hooks to look at.
func (m *Machine) FireInput(ctx context.Context, in Input) error {
	switch {
	case !m.made():
		return ErrNotMade
	case ctx == nil:
		return ErrNoContext
	}
	if err := ctx.Err(); err != nil {
		return err
	}

	var t Transition
	err := m.move(ctx, in, &t)
	if err != nil || !m.tells() {
		return err
	}
	return m.tell(ctx, t)
}

// tells reports whether anyone is told of a transition.
func (m *Machine) tells() bool { return len(m.exit) > 0 || len(m.enter) > 0 }

// move moves the node, and fills in the transition where someone will look at
// it.
func (m *Machine) move(ctx context.Context, in Input, t *Transition) error {
	if len(m.guard) > 0 || len(m.save) > 0 {
		return m.moveInTurn(ctx, in, t)
	}
	watched := m.tells() || m.history != nil
	var at time.Time
	if watched {
		at = m.now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	to, err := m.node.Apply(m.table, in)
	if err != nil {
		return err
	}
	if watched {
		*t = m.transition(in.Event, m.node, to, at)
	}
	m.commit(to, t)
	return nil
}

// moveInTurn moves a node whose guard and save hooks must agree.
func (m *Machine) moveInTurn(ctx context.Context, in Input, t *Transition) error {
	if inTurn(ctx, m) {
		return ErrInTurn
	}
	if err := m.turn.take(ctx); err != nil {
		return err
	}
	defer m.turn.give()

	from := m.Node()
	to, err := from.Apply(m.table, in)
	if err != nil {
		return err
	}
	*t = m.transition(in.Event, from, to, m.now())
	ctx, leave := enterTurn(ctx, m)
	defer leave()
	if err := m.ask(ctx, *t); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commit(to, t)
	return nil
}

// commit makes the new node the one that is seen. The caller holds mu.
func (m *Machine) commit(to Node, t *Transition) {
	m.node = to
	if m.history != nil {
		m.history.add(*t)
	}
}

func (m *Machine) transition(event states.Event, from, to Node, at time.Time) Transition {
	return Transition{
		Node:   m.name,
		Event:  event,
		From:   from,
		To:     to,
		Time:   at,
		Status: statusOf(m.table, from.State, event, to.State),
	}
}
