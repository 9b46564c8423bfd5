// Package boundedcall calls code of others that may panic, end its goroutine or
// never return.
package boundedcall

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/machine"
)

// Do calls f in a goroutine of its own and returns what f returns; the text of its
// error is made fit to be stored and printed. A panic of f is
// a [*machine.PanicError], as is a call that ends its goroutine with [runtime.Goexit].
//
// Do waits until ctx has ended, and then for the grace: a function that heeds its
// context may have something to say, or to log out of. A value that f returns
// within the grace counts like any other; a caller that wants none after the
// deadline asks ctx. When the grace is over Do returns an [*AbandonedError] and
// leaves f behind in its goroutine, its answer unheard.
//
// Do calls f also where ctx has ended already. It is safe for concurrent use.
func Do[T any](ctx context.Context, grace time.Duration, f func(context.Context) (T, error)) (T, error) {
	answers := make(chan answer[T], 1)
	go func() {
		a := answer[T]{err: &machine.PanicError{}} // stands where f ends the goroutine
		defer func() {
			if value := recover(); value != nil {
				a.err = &machine.PanicError{Value: value, Stack: debug.Stack()}
			}
			answers <- a
		}()
		value, err := f(ctx)
		a = answer[T]{value, errtext.Error(err)}
	}()

	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-timer.C:
		var none T
		return none, &AbandonedError{Err: ctx.Err(), Returned: func() bool { return len(answers) > 0 }}
	}
}

type answer[T any] struct {
	value T
	err   error
}

// AbandonedError says that a function had not returned when its context had ended
// and the grace was over. It unwraps to the context's error.
type AbandonedError struct {
	Err error
	// Returned reports whether the function has returned since. It is safe for
	// concurrent use.
	Returned func() bool
}

func (e *AbandonedError) Error() string { return "the call does not return: " + e.Err.Error() }

// Unwrap returns Err.
func (e *AbandonedError) Unwrap() error { return e.Err }
