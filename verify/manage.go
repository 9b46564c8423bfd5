package verify

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

const (
	// DefaultTimeout bounds a verification whose context has no deadline.
	DefaultTimeout = time.Minute

	// grace is how long a verifier may take to return once its context ended: to
	// log out, and to say what it was waiting for.
	grace = 2 * time.Second

	// settleTimeout bounds the hooks of the transition that ends verification,
	// which runs whether or not the caller's context has ended.
	settleTimeout = 30 * time.Second
)

var (
	// ErrNoVerifier: no Verifier was given. Nothing has changed.
	ErrNoVerifier = errors.New("no verifier")
	// ErrStillVerifying: verification is over and its outcome could not be
	// saved, so that the node is still in verifying. It is one of the stuck
	// states ([states.Table.Stuck]): fire EventFail once saving works again.
	ErrStillVerifying = errors.New("the outcome could not be saved, the node is still verifying")
)

// Manage runs Ironic's manage transition: from enroll to verifying; then the
// Verifier; then to manageable, returning the power state that was read, or back
// to enroll, with the reason as last error and in the error returned. A manage
// from any other state verifies nothing, as in Ironic; it returns NoPower.
//
// Whatever the Verifier does, the node does not stay in verifying: a panic, and a
// Verifier that has not returned when the context ends (or [DefaultTimeout] is
// over, where the context has no deadline) are failures like any other. A
// Verifier that ignores its context is left behind in its goroutine, its answer
// unheard. Only a save hook that refuses every way out keeps the node there; the
// error then matches [ErrStillVerifying].
//
// Errors before the node has moved are those of [machine.Machine.FireInput].
// Manage may be called for many machines at once; a second call for the same
// machine is refused while the first verifies.
func Manage(ctx context.Context, m *machine.Machine, v Verifier) (states.Power, error) {
	if v == nil {
		return states.NoPower, ErrNoVerifier
	}
	verifies := m.Node().State == states.Enroll
	hooks := m.FireInput(ctx, machine.Input{Event: states.EventManage, Work: verifies})
	if !moved(hooks) || m.Node().State != states.Verifying {
		return states.NoPower, hooks
	}

	power, err := ask(ctx, v)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err == nil {
		err = m.Fire(ctx, states.EventDone)
		if moved(err) {
			return power, errors.Join(hooks, err)
		}
	}
	return states.NoPower, errors.Join(refuse(ctx, m, err), hooks)
}

// refuse takes the node back to enroll and returns the error for the caller.
func refuse(ctx context.Context, m *machine.Machine, why error) error {
	err := fmt.Errorf("verification of node %s failed: %w", m.Name(), why)
	if m.Name() == "" {
		err = fmt.Errorf("verification failed: %w", why)
	}
	fail := m.FireInput(ctx, machine.Input{Event: states.EventFail, LastError: err.Error()})
	if !moved(fail) && m.Node().State == states.Verifying {
		fail = fmt.Errorf("%w: %w", ErrStillVerifying, fail)
	}
	return errors.Join(err, fail)
}

// moved reports whether a machine moved, going by the error it returned: it has
// also when only an exit or enter hook failed.
func moved(err error) bool {
	var hook *machine.HookError
	return err == nil || errors.As(err, &hook) && hook.Moved
}

// ask calls the Verifier and waits for it while the context lasts.
func ask(ctx context.Context, v Verifier) (states.Power, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	answered := make(chan answer, 1)
	go func() { answered <- call(ctx, v) }()

	select {
	case a := <-answered:
		return a.power, a.err
	case <-ctx.Done():
	}
	ended := &Error{Kind: KindOf(ctx.Err()), Err: ctx.Err()}
	select {
	case a := <-answered:
		if a.err != nil {
			return states.NoPower, a.err
		}
		return states.NoPower, ended
	case <-time.After(grace):
		return states.NoPower, ended
	}
}

type answer struct {
	power states.Power
	err   error
}

func call(ctx context.Context, v Verifier) (a answer) {
	defer func() {
		if value := recover(); value != nil {
			panicked := &PanicError{Value: value, Stack: debug.Stack()}
			a = answer{err: &Error{Kind: Panicked, Err: panicked}}
		}
	}()
	power, err := v.Verify(ctx)
	if err == nil && power != states.PowerOn && power != states.PowerOff {
		err = &Error{Step: PowerState, Kind: Unsupported, Err: fmt.Errorf("the power state read is %q", power)}
	}
	return answer{power, err}
}
