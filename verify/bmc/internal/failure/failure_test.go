// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

func TestAnErrorKeepsItsKindAndOnlyWhatDependsOnNoBMC(t *testing.T) {
	const reason = failure.Reason("a reason")
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	tests := map[string]struct {
		err   error
		kind  verify.Kind
		cause error
	}{
		"a text":            {errors.New("the BMC says so"), verify.Protocol, nil},
		"a reason":          {reason, verify.Protocol, reason},
		"a failure":         {failure.New(verify.Locked, reason), verify.Locked, reason},
		"an error":          {&verify.Error{Kind: verify.Credentials, Err: errors.New("the BMC says so")}, verify.Credentials, nil},
		"a deadline":        {context.DeadlineExceeded, verify.Timeout, context.DeadlineExceeded},
		"an end":            {context.Canceled, verify.Cancelled, context.Canceled},
		"an end, a reason":  {errors.Join(reason, context.Canceled), verify.Cancelled, context.Canceled},
		"a slow network":    {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, verify.Timeout, nil},
		"no name":           {&net.DNSError{Err: "no such host", Name: "bmc", IsNotFound: true}, verify.Unreachable, nil},
		"a closed port":     {&net.OpError{Op: "dial", Err: refused}, verify.Unreachable, syscall.ECONNREFUSED},
		"a reset":           {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, verify.Protocol, syscall.ECONNRESET},
		"a certificate":     {&tls.CertificateVerificationError{Err: errors.New("expired")}, verify.TLS, nil},
		"a foreign CA":      {x509.UnknownAuthorityError{}, verify.TLS, nil},
		"an alert of TLS":   {tls.AlertError(40), verify.TLS, nil},
		"a remote alert":    {&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}, verify.TLS, nil},
		"an unsupported":    {failure.Unsupportedf("no %s", "boot device"), verify.Unsupported, nil},
		"a broken protocol": {failure.Protocolf("no %s", "JSON"), verify.Protocol, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{test.err, fmt.Errorf("GET /: %w", test.err)} {
				got := failure.Of(err)
				require.Equal(t, test.kind, got.Kind)
				require.Equal(t, test.cause, got.Unwrap())
				require.Equal(t, err.Error(), got.Error())
			}
		})
	}
}
