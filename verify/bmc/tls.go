// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

const errFingerprint = failure.Reason("the certificate is not the one that is pinned")

func tlsConfig(c Config) *tls.Config {
	config := &tls.Config{
		ServerName:         c.Host,
		RootCAs:            c.RootCAs,
		InsecureSkipVerify: c.InsecureSkipTLSVerify,
		ClientSessionCache: tls.NewLRUClientSessionCache(1), // a second handshake is short
	}
	if pin, _ := c.pin(); len(pin) > 0 {
		config.InsecureSkipVerify = true // the pin is verified instead
		config.VerifyConnection = func(state tls.ConnectionState) error {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			if !bytes.Equal(sum[:], pin) {
				return failure.New(verify.TLS, fmt.Errorf("%w: it has the fingerprint %x", errFingerprint, sum))
			}
			return nil
		}
	}
	return config
}

func (c Config) checkTLS() error {
	pinned := c.Fingerprint != ""
	_, err := c.pin()
	switch {
	case err != nil:
		return err
	case c.InsecureSkipTLSVerify && (pinned || c.RootCAs != nil), pinned && c.RootCAs != nil:
		return errors.New("RootCAs, Fingerprint and InsecureSkipTLSVerify exclude one another")
	case c.RootCAs != nil && c.RootCAs.Equal(x509.NewCertPool()):
		return errors.New("RootCAs has no certificate in it")
	default:
		return nil
	}
}

// pin returns the SHA-256 sum in Fingerprint.
func (c Config) pin() ([]byte, error) {
	sum, err := hex.DecodeString(strings.ReplaceAll(c.Fingerprint, ":", ""))
	if err != nil || len(sum) != sha256.Size && len(sum) != 0 {
		return nil, fmt.Errorf("the fingerprint %q is not a SHA-256 sum in hexadecimal", c.Fingerprint)
	}
	return sum, nil
}
