// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"time"
)

// newCertificate makes a self-signed certificate for an agent's IP address, and returns it also in PEM.
//
// Source: ironic_python_agent/tls_utils.py.
func newCertificate(host string) (certificate tls.Certificate, text string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate, "", err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "agent"}, IPAddresses: []net.IP{net.ParseIP(host)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 90),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate, "", err
	}
	certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
