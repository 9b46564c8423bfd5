// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"

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
