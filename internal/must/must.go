// SPDX-License-Identifier: Apache-2.0

// Package must ends a script of many steps at its first error, as FailNow ends a test: a check, a measurement or a
// simulation that is no test calls [OK], [Get] and [Failf], and its caller gets the error from [Catch]. They panic, so
// that deferred functions run. Each goroutine needs a Catch of its own.
package must

import (
	"errors"
	"fmt"
)

// failure is the panic that ends a check.
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

// Finally is deferred. It calls end, and adds its error to the one with which the function ends early.
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

// OK ends the check if there is an error.
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

// Get returns a function's value, or ends the check with its error.
func Get[T any](value T, err error) T {
	OK(err)
	return value
}

// Failf ends the check with an error.
func Failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }
