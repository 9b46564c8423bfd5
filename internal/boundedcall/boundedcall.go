// SPDX-License-Identifier: Apache-2.0

// Package boundedcall calls foreign code that may panic, end its goroutine or never
// return.
package boundedcall

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
)

// Do calls f in a new goroutine and returns the results of f, with the text of the
// error cleaned by package errtext. A panic of f is a [*PanicError], as is a
// call that ends its goroutine with [runtime.Goexit].
//
// After the end of ctx, Do waits for the grace, so that f can log out or return a
// detailed error. Do returns the result of f within the grace like any other; a caller
// that must ignore such a result checks ctx. After the grace, Do returns an
// [*AbandonedError] and abandons f in its goroutine; the result of f is discarded.
//
// Do calls f even if ctx has ended already. It is safe for concurrent use.
func Do[T any](ctx context.Context, grace time.Duration, f func(context.Context) (T, error)) (T, error) {
	answers := make(chan answer[T], 1)
	go func() {
		a := answer[T]{err: &PanicError{}} // the answer if f ends the goroutine
		defer func() {
			if value := recover(); value != nil {
				a.err = &PanicError{Value: value, Stack: debug.Stack()}
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
		return none, &AbandonedError{ctx.Err()}
	}
}

type answer[T any] struct {
	value T
	err   error
}

// AbandonedError says that a function did not return within the grace after the end of
// its context. It unwraps to the context's error.
type AbandonedError struct{ Err error }

func (e *AbandonedError) Error() string { return "the call does not return: " + e.Err.Error() }

// Unwrap returns Err.
func (e *AbandonedError) Unwrap() error { return e.Err }

// PanicError is a panic of a function, or the end of its goroutine, as an error. It has
// the fields of machine.PanicError, into which packages with exported errors convert it.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	switch value := e.Value.(type) {
	case nil:
		return "the call ended its goroutine"
	case runtime.Error:
		return "panic: " + value.Error()
	default:
		return fmt.Sprintf("panic with a value of type %T", value)
	}
}

// Unwrap returns the panic's value if it is an error, otherwise nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
