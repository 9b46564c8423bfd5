package machine

import (
	"context"
	"iter"
	"slices"
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
	// Now is the clock that transitions are stamped by; nil is [time.Now]. It
	// must not use the machine.
	Now func() time.Time
	// NoTime leaves the time of transitions zero: to read the clock can take
	// longer than all else that a machine does.
	NoTime bool
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
	table *states.Table
	name  string
	watch *watch // nil where there is neither a hook nor a history

	mu   sync.Mutex // guards node and the history; never held while a hook runs
	node Node
}

// watch is what a machine with hooks or a history has besides.
type watch struct {
	guard   []Hook
	save    []SaveHook
	told    []Hook           // the exit hooks and then the enter hooks
	exits   int              // how many of them are exit hooks
	now     func() time.Time // nil where no time is taken
	turn    turn             // held by the one that is in guard and save hooks
	history history
}

// New makes the machine of a node. The errors are [ErrNoTable], [*StateError],
// [*TargetError] and [ErrHistory]. The hook slices of the Config must not change
// afterwards; machines may share them.
func New(c Config) (*Machine, error) {
	if err := c.Node.check(c.Table); err != nil {
		return nil, err
	}
	if c.History < 0 {
		return nil, ErrHistory
	}
	return &Machine{table: c.Table, name: c.Name, node: c.Node, watch: c.watch()}, nil
}

func (c *Config) watch() *watch {
	if len(c.Guard)+len(c.Save)+len(c.Exit)+len(c.Enter)+c.History == 0 {
		return nil
	}
	w := &watch{
		guard:   c.Guard,
		save:    c.Save,
		told:    slices.Concat(c.Exit, c.Enter),
		exits:   len(c.Exit),
		now:     c.Now,
		history: history{most: c.History},
	}
	switch {
	case c.NoTime:
		w.now = nil
	case w.now == nil:
		w.now = time.Now
	}
	return w
}

func (w *watch) time() time.Time {
	if w.now == nil {
		return time.Time{}
	}
	return w.now()
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
	if !m.made() || m.watch == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watch.history.all()
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

	if m.watch == nil {
		return m.move(in)
	}
	var t Transition
	if err := m.moveWatched(ctx, in, &t); err != nil {
		return err
	}
	return m.watch.tell(ctx, &t)
}

// move moves a node that no one watches.
func (m *Machine) move(in Input) error {
	m.mu.Lock()
	to, err := m.node.Apply(m.table, in)
	if err == nil {
		m.node = to
	}
	m.mu.Unlock()
	return err
}

// moveWatched moves a node and fills in the transition.
func (m *Machine) moveWatched(ctx context.Context, in Input, t *Transition) error {
	if len(m.watch.guard) > 0 || len(m.watch.save) > 0 {
		return m.moveInTurn(ctx, in, t)
	}
	at := m.watch.time()
	m.mu.Lock()
	from := m.node
	to, err := from.Apply(m.table, in)
	if err == nil {
		m.commit(to, t.of(m, in.Event, from, to, at))
	}
	m.mu.Unlock()
	return err
}

// moveInTurn moves a node whose guard and save hooks must agree.
func (m *Machine) moveInTurn(ctx context.Context, in Input, t *Transition) error {
	if inTurn(ctx, m) {
		return ErrInTurn
	}
	if err := m.watch.turn.take(ctx); err != nil {
		return err
	}
	defer m.watch.turn.give()

	from := m.Node()
	to, err := from.Apply(m.table, in)
	if err != nil {
		return err
	}
	ctx, leave := enterTurn(ctx, m)
	defer leave()
	if err := m.watch.ask(ctx, t.of(m, in.Event, from, to, m.watch.time())); err != nil {
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
	if m.watch.history.most > 0 {
		m.watch.history.add(*t)
	}
}
