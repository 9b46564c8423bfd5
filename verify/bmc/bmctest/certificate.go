// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

// Certificate selects the defect of the certificate that a Redfish BMC presents. The zero value is a valid certificate:
// for 127.0.0.1, ::1, localhost and the BMC's address, signed by the CA of CertPool. The others are
//
//	"expired"        ended yesterday
//	"not yet valid"  begins tomorrow, as if the BMC's clock were wrong
//	"wrong name"     for another host
//	"foreign CA"     signed by a CA that CertPool does not hold
type Certificate string

const (
	certExpired     Certificate = "expired"
	certNotYetValid Certificate = "not yet valid"
	certWrongName   Certificate = "wrong name"
	certForeignCA   Certificate = "foreign CA"
)

// BadCertificates lists every Certificate that a careful client must refuse.
func BadCertificates() []Certificate {
	return []Certificate{certExpired, certNotYetValid, certWrongName, certForeignCA}
}

// certificates holds the certificate of one BMC and the authority that its owner trusts.
type certificates struct {
	tls         *tls.Config
	caPEM       []byte
	fingerprint [32]byte
}

// newCertificates makes the certificate of a BMC. The authority is a new one if given is nil.
func newCertificates(kind Certificate, addr net.IP, given *tls.Certificate) (c certificates, err error) {
	trusted := given
	if trusted == nil {
		if trusted, err = NewAuthority(); err != nil {
			return c, err
		}
	}
	signer := trusted
	if kind == certForeignCA {
		if signer, err = NewAuthority(); err != nil {
			return c, err
		}
	}
	leaf, err := issue(leafTemplate(kind, addr), signer)
	if err != nil {
		return c, err
	}
	return certificates{
		tls:         &tls.Config{Certificates: []tls.Certificate{*leaf}, NextProtos: []string{"http/1.1"}},
		caPEM:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted.Leaf.Raw}),
		fingerprint: sha256.Sum256(leaf.Leaf.Raw),
	}, nil
}

func leafTemplate(kind Certificate, addr net.IP) *x509.Certificate {
	now := time.Now()
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "bmctest BMC"},
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.Add(30 * 24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, addr},
	}
	switch kind {
	case certExpired:
		t.NotBefore, t.NotAfter = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	case certNotYetValid:
		t.NotBefore = now.Add(24 * time.Hour)
	case certWrongName:
		t.DNSNames, t.IPAddresses = []string{"another-bmc.invalid"}, nil
	}
	return t
}

// NewAuthority makes an authority for [RedfishConfig.Authority], which is valid for a year. Clients trust the
// PEM form of its Certificate.
func NewAuthority() (*tls.Certificate, error) {
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "bmctest CA " + rand.Text()[:6]},
		NotBefore:             time.Now().Add(-72 * time.Hour),
		NotAfter:              time.Now().Add(365 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil)
}

// checkAuthority returns an error for an authority that cannot sign.
func checkAuthority(c *tls.Certificate) error {
	if _, ok := c.PrivateKey.(*ecdsa.PrivateKey); !ok || c.Leaf == nil {
		return errors.New("no Leaf or no ECDSA key")
	}
	return nil
}

// issue makes a certificate with a new key, which an authority signs, or with nil the key itself.
func issue(template *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("bmctest: make key: %w", err)
	}
	if by == nil {
		by = &tls.Certificate{Leaf: template, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Leaf, key.Public(), by.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("bmctest: sign certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("bmctest: read certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
