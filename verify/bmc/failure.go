package bmc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"github.com/ironstate/ironstate/verify"
)

// failure is an error whose kind is known where it arises. Its text holds no
// secret.
type failure struct {
	kind verify.Kind
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func unsupported(text string) error {
	return &failure{verify.Unsupported, errors.New(text)}
}

// kindOf returns what an error of the network, of TLS or of a context stands
// for, and [verify.Protocol] for any other.
func kindOf(err error) verify.Kind {
	var (
		name      *net.DNSError
		dial      *net.OpError
		network   net.Error
		untrusted *tls.CertificateVerificationError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
	)
	switch {
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
