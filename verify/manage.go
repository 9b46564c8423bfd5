// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// settleTimeout bounds the hooks of the transition that ends verification, which runs
// whether or not the caller's context has ended.
const settleTimeout = 30 * time.Second

// ErrStillVerifying says that verification has ended but that its outcome could not be
// saved. The node is still in verifying, which is one of the stuck states
// ([states.Table.Stuck]); the caller reports EventFail once saving works again.
var ErrStillVerifying = errors.New("the outcome could not be saved, the node is still verifying")

var errNoVerifier = errors.New("no verifier")

// Manage runs Ironic's manage transition. It moves the node from enroll to verifying
// and calls the Verifier. On success it moves the node to manageable and returns the
// power state that was read; on failure it moves the node back to enroll, and the
// reason is the last error and the returned error. The machine's save hook gets the
// power state with the transition to manageable. A manage from any other state
// verifies nothing, as in Ironic; it returns NoPower.
//
// The Verifier decides what is checked. The enroll specification demands the power interface,
// the management interface and a read of the power state; Ironic's code leaves out the
// management interface.
//
// A manage in Cleaning ends the cleaning, since the conductor's own event has that name. In Ironic the node is reserved
// then, and the client gets 409: a service that cleans asks package admission first, with Reserved set.
//
// Whatever the Verifier does, the node does not stay in verifying: a panic is a
// failure, and so is a Verifier that has not returned when the context ends, or after a
// minute if the context has no deadline. A Verifier that ignores its context is
// abandoned in its goroutine, and its result is discarded. The node stays in verifying
// only if the save hooks refuse every transition out of it, or end their goroutine; the error
// then matches [ErrStillVerifying].
//
// A verification ends its own stay in verifying and no other. If another caller has moved the node meanwhile, or
// [machine.Machine.SetNode] has, the outcome is discarded, the node stays as it is, also in the verifying of a later
// Manage, and the error matches a [*machine.SupersededError].
//
// Before the node has moved, Manage returns the errors of [machine.Machine.Request], and an error for
// a nil Verifier. Manage may be called for many machines at once; a second call for the
// same machine is refused while the first verifies.
func Manage(ctx context.Context, m *machine.Machine, v Verifier) (states.Power, error) {
	wait, err := Start(ctx, m, v)
	if err != nil {
		return states.NoPower, err
	}
	return wait()
}

// Start is [Manage] for a service that answers its client before verification
// ends, with 202. It returns once the node is in verifying (or, from any state but
// enroll, in manageable), or with the error for which the node has not moved.
//
// Verification then continues in a goroutine until ctx ends. Do not use the context of
// a client's request, which ends with its answer. The wait function returns the results
// of Manage; it may be called several times. A service must call it for each
// verification before it exits.
func Start(ctx context.Context, m *machine.Machine, v Verifier) (wait func() (states.Power, error), err error) {
	if v == nil {
		return nil, errNoVerifier
	}
	moves := m.Sequence()
	hooks := moves.Request(ctx, states.EventManage.Verb(), m.Table().Series().MaxAPIVersion())
	if !machine.Moved(hooks) {
		return nil, hooks
	}
	if moves.State() != states.Verifying {
		return func() (states.Power, error) { return states.NoPower, hooks }, nil
	}
	var (
		power   states.Power
		outcome error = &machine.PanicError{} // unless finish returns: a hook ended the goroutine
		ended         = make(chan struct{})
	)
	go func() {
		defer close(ended)
		power, outcome = finish(ctx, m, moves, v, hooks)
	}()
	return func() (states.Power, error) {
		<-ended
		return power, outcome
	}, nil
}

// finish verifies a node in verifying and moves it out of that state, unless it has left it. It joins the
// errors of earlier hooks with the outcome.
func finish(ctx context.Context, m *machine.Machine, moves *machine.Sequence, v Verifier, hooks error) (states.Power, error) {
	power, err := Run(ctx, m.Name(), v)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err == nil {
		err = moves.Apply(ctx, machine.Input{Event: states.EventDone, Power: power})
		if machine.Moved(err) {
			return power, errors.Join(hooks, err)
		}
		err = &failure{node: m.Name(), err: err}
		if isSuperseded(err) {
			return states.NoPower, errors.Join(err, hooks)
		}
	}
	fail := moves.Report(ctx, states.EventFail, err.Error())
	if !machine.Moved(fail) && !isSuperseded(fail) && m.Node().State == states.Verifying {
		fail = fmt.Errorf("%w: %w", ErrStillVerifying, fail)
	}
	return states.NoPower, errors.Join(err, fail, hooks)
}

func isSuperseded(err error) bool { return errors.As(err, new(*machine.SupersededError)) }
