// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"runtime/debug"
	"syscall"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/verify"
)

func misconfigured(err error) *verify.Error {
	return &verify.Error{Op: "configure", Kind: verify.Misconfigured, Err: err}
}

// failure is an error with a known kind. Its text may quote the BMC, until
// [scrubber.describe] has cleaned it.
type failure struct {
	kind verify.Kind
	text string
	err  error // for errors.Is, without texts of the BMC; may be nil
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

func fail(kind verify.Kind, err error) *failure {
	return &failure{kind: kind, text: err.Error(), err: cause(err)}
}

func unsupported(text string) *failure { return &failure{kind: verify.Unsupported, text: text} }

func garbled(text string) *failure { return &failure{kind: verify.Protocol, text: text} }

// known has this package's errors that callers within it distinguish.
var known = []error{
	context.DeadlineExceeded, context.Canceled,
	errNoServiceRoot, errNoSessions, errNoIPMI, errFingerprint, errBytes, errAnswer, errRequests, errMembers, errHeader,
	ErrNoSubscription,
}

// cause returns the part of an error that callers may match: an error that does not
// depend on the BMC's answer. Other errors hold texts of the BMC.
func cause(err error) error {
	for _, k := range known {
		if errors.Is(err, k) {
			return k
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return nil
}

// kindOf returns the kind of an error of the network, of TLS or of a context, and
// [verify.Protocol] for any other error.
func kindOf(err error) verify.Kind {
	var (
		known     *failure
		name      *net.DNSError
		dial      *net.OpError
		network   net.Error
		untrusted *tls.CertificateVerificationError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &known):
		return known.kind
	case verify.KindOf(err) != verify.Failed:
		return verify.KindOf(err)
	case errors.As(err, &untrusted), errors.As(err, &alert), errors.As(err, &authority),
		errors.Is(err, errFingerprint):
		return verify.TLS
	case errors.As(err, &network) && network.Timeout():
		return verify.Timeout
	case errors.As(err, &name), errors.As(err, &dial) && dial.Op == "dial":
		return verify.Unreachable
	default:
		return verify.Protocol
	}
}

// guarded calls a driver and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fail(verify.Panicked, &machine.PanicError{Value: value, Stack: debug.Stack()})
		}
	}()
	return f()
}
