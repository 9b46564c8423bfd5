// SPDX-License-Identifier: Apache-2.0

// Package failure has the errors of package bmc while they are within it. An [Error] has a kind
// and a cause that callers may match. Its text may quote a BMC or a driver, secrets included,
// until a [Scrubber] has cleaned it, which happens once: where the error leaves package bmc.
package failure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/ironstate/ironstate/verify"
)

// Error is an error with a known kind.
type Error struct {
	Kind  verify.Kind
	Text  string
	Cause error // for errors.Is, without texts of the BMC; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// New returns an error of a kind, with the text and the cause of another one.
func New(kind verify.Kind, err error) *Error {
	return &Error{Kind: kind, Text: err.Error(), Cause: cause(err)}
}

// Of returns an error of the kind that [KindOf] finds.
func Of(err error) *Error { return New(KindOf(err), err) }

// Unsupportedf returns an error of the kind [verify.Unsupported].
func Unsupportedf(format string, args ...any) *Error {
	return &Error{Kind: verify.Unsupported, Text: fmt.Sprintf(format, args...)}
}

// Protocolf returns an error of the kind [verify.Protocol].
func Protocolf(format string, args ...any) *Error {
	return &Error{Kind: verify.Protocol, Text: fmt.Sprintf(format, args...)}
}

// Reason is a cause that callers within package bmc distinguish. Its text never depends on a BMC.
type Reason string

func (r Reason) Error() string { return string(r) }

// cause returns the part of an error that callers may match: an error that does not
// depend on the BMC's answer. Other errors hold texts of the BMC.
func cause(err error) error {
	for _, known := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	var reason Reason
	if errors.As(err, &reason) {
		return reason
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return nil
}

// KindOf returns the kind of an error of the network, of TLS or of a context, and
// [verify.Protocol] for any other error.
func KindOf(err error) verify.Kind {
	var (
		known     *Error
		name      *net.DNSError
		operation *net.OpError
		network   net.Error
		untrusted *tls.CertificateVerificationError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &known):
		return known.Kind
	case verify.KindOf(err) != verify.Failed:
		return verify.KindOf(err)
	case errors.As(err, &untrusted), errors.As(err, &alert), errors.As(err, &authority),
		errors.As(err, &operation) && operation.Op == "remote error": // an alert in crypto/tls, whose type is not exported
		return verify.TLS
	case errors.As(err, &network) && network.Timeout():
		return verify.Timeout
	case errors.As(err, &name), errors.As(err, &operation) && operation.Op == "dial":
		return verify.Unreachable
	default:
		return verify.Protocol
	}
}
