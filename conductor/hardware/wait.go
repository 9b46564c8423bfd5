// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"errors"
	"slices"

	"github.com/ironstate/ironstate/verify"
)

// wait decides when a wait for a machine ends before the machine, or its BMC, has what is awaited.
type wait struct {
	// restarts says that the BMC restarts, with firmware of its own: for a moment it may show another certificate, or
	// refuse the password, and gets it once more.
	restarts bool
	refused  bool // whether the last read has sent a password that was refused
}

// ends reports whether a wait ends with the error of a read, nil for none. A refused password is not sent again, since
// a BMC may lock its account. A failure of TLS, unless the BMC restarts, an invalid configuration and
// a panic do not pass. Any other failure may pass until the time of the wait is over: a BMC that restarts, or whose
// machine boots, may not answer, may lack a resource, or may forbid it for a moment to a user who is logged in.
func (w *wait) ends(err error) bool {
	again := w.refused || !w.restarts
	w.refused = verify.LoginRefused(err)
	return w.refused && again || errors.Is(err, verify.TLS) && !w.restarts || isAnyOf(err, verify.Misconfigured, verify.Panicked)
}

// isAnyOf reports whether an error is of one of some kinds.
func isAnyOf(err error, kinds ...verify.Kind) bool {
	return slices.ContainsFunc(kinds, func(kind verify.Kind) bool { return errors.Is(err, kind) })
}
