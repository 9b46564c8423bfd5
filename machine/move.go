package machine

import (
	"context"
	"errors"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Request moves the node as [Node.Request] does, and runs the hooks. The errors
// are those of Node.Request and of [Machine.FireInput].
//
// The abort of a service is two transitions, and each runs the hooks. If the first has
// happened and the second is refused, the node is in ServiceFail.
func (m *Machine) Request(ctx context.Context, target string, v states.APIVersion) error {
	c := change{kind: request, target: target, version: v}
	err := m.do(ctx, &c)
	if !c.twice || !moved(err) {
		return err
	}
	second := m.do(ctx, &change{in: serviceAborted})
	if err == nil {
		return second
	}
	return errors.Join(err, second)
}

// Report moves the node as [Node.Report] does, and runs the hooks. The errors are
// those of Node.Report and of [Machine.FireInput].
func (m *Machine) Report(ctx context.Context, event states.Event, lastError string) error {
	return m.do(ctx, &change{kind: report, in: Input{Event: event, LastError: lastError}})
}

// Fire is [Machine.FireInput] with only an event.
func (m *Machine) Fire(ctx context.Context, event states.Event) error {
	return m.FireInput(ctx, Input{Event: event})
}

// FireInput moves the node as [Node.Apply] does and runs the hooks in the order of the
// package comment. It is the low level: [Machine.Request] and [Machine.Report] derive
// the input from a request or a report by the conductor's rules.
//
// The errors of Node.Apply, the context's error, and a [*HookError] whose Moved is
// false mean that nothing has happened. A HookError whose Moved is true (several
// are joined) means that the node is in its new state and an exit or enter hook
// failed. A hook's panic is a [*PanicError] in a HookError.
//
// A context that ends before the save hooks have run stops the transition; after that
// only the hooks see that it has ended.
func (m *Machine) FireInput(ctx context.Context, in Input) error {
	if err := m.ready(ctx); err != nil {
		return err
	}
	if m.observers != nil {
		return m.doObserved(ctx, &change{in: in})
	}
	m.mu.Lock()
	next, err := m.node.Apply(m.table, in)
	if err == nil {
		m.node = next
	}
	m.mu.Unlock()
	return err
}

// moved reports whether a machine moved, given the error of the move.
func moved(err error) bool {
	var hook *HookError
	return err == nil || errors.As(err, &hook) && hook.Moved
}

// A change is a requested move. The input that it results in depends on the state in
// which apply finds the node.
type change struct {
	kind    changeKind
	in      Input             // the resulting input, once apply was called
	target  string            // of a request
	version states.APIVersion // of a request
	twice   bool              // whether serviceAborted follows, once apply was called
}

type changeKind uint8

const (
	input changeKind = iota
	request
	report
)

// apply returns the node after the change.
func (c *change) apply(n Node, t *states.Table) (Node, error) {
	var err error
	switch c.kind {
	case request:
		c.in, err = n.requested(t, c.target, c.version)
		c.twice = n.abortsTwice(t, c.in.Event)
	case report:
		c.in, err = n.reported(t, c.in.Event, c.in.LastError)
	}
	if err != nil {
		return n, err
	}
	return n.Apply(t, c.in)
}

// ready returns an error unless the machine can be moved.
func (m *Machine) ready(ctx context.Context) error {
	switch {
	case !m.made():
		return errNotMade
	case ctx == nil:
		return errNoContext
	default:
		return ctx.Err()
	}
}

// do applies a change and runs the hooks.
func (m *Machine) do(ctx context.Context, c *change) error {
	if err := m.ready(ctx); err != nil {
		return err
	}
	if m.observers != nil {
		return m.doObserved(ctx, c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := c.apply(m.node, m.table)
	m.node = next
	return err
}

// doObserved is do for a machine with hooks or a history.
func (m *Machine) doObserved(ctx context.Context, c *change) error {
	var t Transition
	var err error
	if m.observers.hooksMu != nil {
		err = m.moveGuarded(ctx, c, &t)
	} else {
		err = m.move(c, &t)
	}
	if err != nil {
		return err
	}
	return m.observers.after(ctx, &t)
}

// move applies a change without guard and save hooks, and fills in the transition.
func (m *Machine) move(c *change, t *Transition) error {
	at := m.observers.now()
	m.mu.Lock()
	from := m.node
	next, err := c.apply(from, m.table)
	if err == nil {
		m.fill(t, &c.in, from, next, at)
		m.commit(t)
	}
	m.mu.Unlock()
	return err
}

// moveGuarded applies a change that guard and save hooks may refuse, and fills in the
// transition.
func (m *Machine) moveGuarded(ctx context.Context, c *change, t *Transition) error {
	if err := m.lockHooks(ctx); err != nil {
		return err
	}
	defer m.unlockHooks()

	from := m.Node()
	next, err := c.apply(from, m.table)
	if err != nil {
		return err
	}
	m.fill(t, &c.in, from, next, m.observers.now())
	ctx, leave := enterHooks(ctx, m)
	defer leave()
	if err := m.observers.before(ctx, t); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commit(t)
	return nil
}

// lockHooks waits until no guard or save hook runs. Waiting callers proceed in the
// order of their calls.
func (m *Machine) lockHooks(ctx context.Context) error {
	if inHook(ctx, m) {
		return errInHook
	}
	select {
	case m.observers.hooksMu <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Machine) unlockHooks() { <-m.observers.hooksMu }

// fill fills in a transition, in place.
func (m *Machine) fill(t *Transition, in *Input, from, to Node, at time.Time) {
	t.Node = m.name
	t.Event = in.Event
	t.From = from
	t.To = to
	t.Power = in.Power
	t.Time = at
	t.Status = statusOf(m.table, from.State, in.Event, to.State)
}

// commit makes a transition's new node visible. The caller holds mu.
func (m *Machine) commit(t *Transition) {
	m.node = t.To
	if m.observers.history.most > 0 {
		m.observers.history.add(*t)
	}
}
