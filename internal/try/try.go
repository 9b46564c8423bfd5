// SPDX-License-Identifier: Apache-2.0

// Package try ends a script of many steps at its first error, as FailNow ends a test: a check, a measurement or a
// simulation that is no test calls [OK], [Get] and [Failf], and its caller gets the error from [Catch]:
//
//	err := try.Catch(func() {
//		file := try.Get(os.Create(name))
//		defer try.Finally(file.Close)
//		try.OKf(write(file), "write %s", name)
//	})
//
// They panic, so that deferred functions run. Each goroutine needs a Catch of its own.
//
// It is for scripts alone, whose only answer to an error is to end. A function whose caller does something else about
// the error returns it: a parser, a reader or writer of bytes, a handler that refuses a request. A Catch whose error is
// changed and raised again is a sign of such a function; [Within] puts a text before an error.
//
// Nothing of this package is called where the panic would go through code of others, as in the body of a loop over an
// iterator that a user has written, or in a callback: that code need not be made for panics. Nor does a Catch enclose a
// callback of a user who could import this package, since it cannot tell whose failure it gets. A deferred function
// that may fail is deferred by [Finally], since it would replace the first error otherwise.
package try

import (
	"errors"
	"fmt"
)

// failure is the panic that ends a script.
type failure struct{ error }

// Catch calls f and returns the error with which f has ended early, or nil. Other panics go on.
func Catch(f func()) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case failure:
			err = value.error
		default:
			panic(value)
		}
	}()
	f()
	return nil
}

// Within calls f, and puts a text before the error with which f ends early.
func Within(text string, f func()) { OKf(Catch(f), "%s", text) }

// Finally is deferred. It calls end, and adds its error to the one with which the function ends early. It also calls
// end when another panic or [runtime.Goexit] ends the function. These go on, and the error is lost.
func Finally(end func() error) {
	value := recover()
	err := end()
	if early, ok := value.(failure); ok {
		value, err = nil, errors.Join(early.error, err)
	}
	if value != nil {
		panic(value)
	}
	OK(err)
}

// OK ends the script if there is an error.
func OK(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// OKf is OK with a text before the error.
func OKf(err error, format string, args ...any) {
	if err != nil {
		Failf("%s: %w", fmt.Sprintf(format, args...), err)
	}
}

// Get returns a function's value, or ends the script with its error.
func Get[T any](value T, err error) T {
	OK(err)
	return value
}

// Failf ends the script with an error.
func Failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }
