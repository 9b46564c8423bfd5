// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/boundedcall"
	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

const (
	// defaultTimeout bounds a verification whose context has no deadline.
	defaultTimeout = time.Minute

	// grace is how long a verifier may take to return once its context ended, to log
	// out and to return an error that says which answer it was waiting for.
	grace = 2 * time.Second
)

// ErrNoPower says that the Verifier has returned neither PowerOn nor PowerOff and no error.
var ErrNoPower = errors.New("the power state read is neither on nor off")

type noPowerError states.Power

func (e noPowerError) Error() string {
	return fmt.Sprintf("the power state read is %q", states.Power(e))
}

func (noPowerError) Is(target error) bool { return target == ErrNoPower }

// Run is the verification that [Manage] runs, without the transitions, for services that
// make them: it calls the Verifier and waits for it until ctx ends, or for a minute if
// ctx has no deadline. A Verifier that panics has failed, as has one that has not
// returned in time; it is abandoned in its goroutine, and its result is discarded.
//
// The text of the error is the node's last error; it names the node if the name is not
// empty. An error that matches [ErrNoPower] comes with the power state that was read.
func Run(ctx context.Context, node string, v Verifier) (states.Power, error) {
	if v == nil {
		return states.NoPower, &failure{node, errNoVerifier}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	power, err := boundedcall.Do(ctx, grace, v.Verify)
	switch panicked, ok := err.(*boundedcall.PanicError); {
	case ok:
		err = &Error{Kind: Panicked, Err: (*machine.PanicError)(panicked)}
	case errors.As(err, new(*boundedcall.AbandonedError)), err == nil && ctx.Err() != nil:
		err = &Error{Kind: KindOf(ctx.Err()), Err: ctx.Err()}
	case err == nil && power != states.PowerOn && power != states.PowerOff:
		err = &Error{Op: "power state", Kind: Unsupported, Err: noPowerError(power)}
	}
	if err != nil {
		return power, &failure{node, err}
	}
	return power, nil
}

// failure is the error of a failed verification. Its text becomes the last error.
type failure struct {
	node string // its name; may be empty
	err  error
}

func (f *failure) Error() string {
	if f.node == "" {
		return errtext.Clean(fmt.Sprintf("verification failed: %v", f.err))
	}
	return errtext.Clean(fmt.Sprintf("verification of node %s failed: %v", f.node, f.err))
}

func (f *failure) Unwrap() error { return f.err }
