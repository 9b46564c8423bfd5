// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"runtime/debug"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

func misconfigured(err error) *verify.Error {
	return &verify.Error{Op: "configure", Kind: verify.Misconfigured, Err: err}
}

// guarded calls a driver and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = failure.New(verify.Panicked, &machine.PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	return f()
}
