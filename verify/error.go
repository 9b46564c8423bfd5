// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/internal/errtext"
)

// Kind is the reason why verification failed. It is an error, so that a caller can ask
// errors.Is(err, verify.Credentials), as with [syscall.Errno].
type Kind uint8

const (
	// Failed is the zero Kind: the reason is unknown.
	Failed Kind = iota
	// Misconfigured says that the configuration is invalid; the BMC was not contacted.
	Misconfigured
	// Unreachable says that the connection was refused, that there is no route, that the
	// name was not found, or that the BMC answered that it is busy.
	Unreachable
	// Timeout says that there was no answer in time.
	Timeout
	// Cancelled says that the context was cancelled.
	Cancelled
	// TLS says that the BMC's certificate is not trusted, is another host's, or has expired.
	TLS
	// Credentials says that the BMC refuses the user or the password.
	Credentials
	// Locked says that the BMC has locked the account. Such an error also matches Credentials.
	Locked
	// Forbidden says that the BMC has accepted the password, and that its user may not do what was asked. Such an error
	// also matches Credentials. To repeat such a request locks no account.
	Forbidden
	// Unsupported says that the BMC answers but lacks a required function.
	Unsupported
	// Protocol says that the BMC's answer violates the protocol.
	Protocol
	// Panicked says that the Verifier, or a driver that it uses, panicked or ended its
	// goroutine. The error holds a [*machine.PanicError] if [Manage] recovered it.
	Panicked
)

var kindTexts = [...]string{
	Failed:        "failed",
	Misconfigured: "misconfigured",
	Unreachable:   "unreachable",
	Timeout:       "no answer in time",
	Cancelled:     "cancelled",
	TLS:           "TLS not trusted",
	Credentials:   "credentials refused",
	Locked:        "account locked",
	Forbidden:     "not permitted",
	Unsupported:   "not supported",
	Protocol:      "protocol error",
	Panicked:      "the verifier failed",
}

// Error returns the text of the kind in errors, such as "credentials refused".
func (k Kind) Error() string {
	if int(k) < len(kindTexts) {
		return kindTexts[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// errLogin is what a refused log-in matches.
var errLogin = errors.New("the user or the password is refused")

// Is reports whether a kind matches another one: Locked and Forbidden match Credentials.
func (k Kind) Is(target error) bool {
	switch target {
	case Credentials:
		return k == Locked || k == Forbidden
	case errLogin:
		return k == Credentials || k == Locked
	default:
		return false
	}
}

// LoginRefused reports whether an error says that the BMC refuses the user or the password, which is not sent again
// while one waits for a machine: BMCs lock accounts. One of its kinds is Credentials or Locked, and not Forbidden.
func LoginRefused(err error) bool { return errors.Is(err, errLogin) }

// Error says which operation failed, and why. It unwraps to its Kind and to Err.
type Error struct {
	// Op is the step of verification: "power interface" (power control is configured,
	// and the BMC offers it), "management interface" (the same for the boot device) or
	// "power state" (it is read with the node's credentials). If a driver fails outside
	// of a verification, Op is another operation, such as "set power on". It is empty
	// if the failure belongs to no operation.
	Op       string
	Kind     Kind
	Protocol string // "redfish" or "ipmi"; empty if no protocol was used
	Host     string // host and port; empty if no host was contacted
	Err      error  // the cause, without secrets; may be nil
}

func (e *Error) Error() string {
	parts := []string{cmp.Or(e.Op, "verification")}
	if e.Host != "" {
		parts = append(parts, strings.TrimSpace(e.Protocol+" "+e.Host))
	}
	parts = append(parts, e.Kind.Error())
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return errtext.Clean(strings.Join(parts, ": "))
}

// Unwrap returns Kind and Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// KindOf returns the reason why verification failed: the Kind in the error, which an
// [*Error] has, Timeout and Cancelled for the errors of a context, Failed for any other error.
func KindOf(err error) Kind {
	var kind Kind
	switch {
	case errors.As(err, &kind):
		return kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Cancelled
	default:
		return Failed
	}
}
