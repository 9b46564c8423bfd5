// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// offersRSA reports whether a ClientHello, in one record, offers a cipher suite with RSA key exchange (RFC 8446,
// section 4.1.2, and 5.1 for the record).
func offersRSA(t *testing.T, record []byte) bool {
	hello := record[5+4+2+32:] // after the headers of record and message, the version, and the random
	hello = hello[1+int(hello[0]):]
	suites := hello[2:][:binary.BigEndian.Uint16(hello)]
	require.NotEmpty(t, suites)
	for ; len(suites) > 0; suites = suites[2:] {
		if suite := binary.BigEndian.Uint16(suites); suite == tls.TLS_RSA_WITH_AES_256_GCM_SHA384 || suite == tls.TLS_RSA_WITH_AES_128_CBC_SHA {
			return true
		}
	}
	return false
}

// attacker accepts connections in place of a BMC. first answers the first ClientHello, and the others if serve is nil.
type attacker struct {
	net.Listener
	rsa     []bool // by connection: whether RSA key exchange was offered
	running sync.WaitGroup
}

func startAttacker(t *testing.T, first []byte, serve func(conn net.Conn)) *attacker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &attacker{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	a.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			header := make([]byte, 5)
			_, err = io.ReadFull(conn, header)
			if err != nil {
				t.Errorf("read a record: %v", err)
			}
			hello := make([]byte, binary.BigEndian.Uint16(header[3:]))
			_, _ = io.ReadFull(conn, hello)
			hello = append(header, hello...)
			a.rsa = append(a.rsa, offersRSA(t, hello))
			if len(a.rsa) == 1 || serve == nil {
				_, _ = conn.Write(first)
			} else {
				serve(prefixed{conn, io.MultiReader(bytes.NewReader(hello), conn)})
			}
			_ = conn.Close()
		}
	})
	return a
}

// stop returns whether RSA key exchange was offered, by connection.
func (a *attacker) stop() []bool {
	_ = a.Close()
	a.running.Wait()
	return a.rsa
}

// config leads the connections of a configuration to the attacker.
func (a *attacker) config(c bmc.Config) bmc.Config {
	c.SystemID, c.RedfishPort = "1", a.Addr().(*net.TCPAddr).Port
	return c
}

// prefixed is a connection of which something was read before.
type prefixed struct {
	net.Conn
	from io.Reader
}

func (p prefixed) Read(b []byte) (int, error) { return p.from.Read(b) }

// refusal is a record with the fatal alert handshake_failure.
var refusal = []byte{21, 3, 3, 0, 2, 2, 40}

// Neither a connection that is cut nor another alert leads to a handshake with RSA key exchange.
func TestRSAKeyExchangeIsOfferedAfterOneAlertAlone(t *testing.T) {
	front := httptest.NewTLSServer(http.NotFoundHandler())
	defer front.Close()
	for alert := range 256 {
		a := startAttacker(t, []byte{21, 3, 3, 0, 2, 2, byte(alert)}, nil)
		_, err := newVerifier(t, a.config(configOfServer(front))).Verify(t.Context())
		require.Error(t, err)
		if offered := a.stop(); alert == 40 {
			require.Equal(t, []bool{false, true}, offered)
		} else {
			require.NotContains(t, offered, true, alert)
		}
	}
	for _, first := range [][]byte{nil, {21, 3, 3}, {22, 3, 3, 0, 1, 0}, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")} {
		a := startAttacker(t, first, nil)
		_, err := newVerifier(t, a.config(configOfServer(front))).Verify(t.Context())
		require.Error(t, err)
		require.NotContains(t, a.stop(), true, first)
	}
}

// An attacker who refuses the first handshake needs the BMC's key for the second one, which verifies the certificate
// as the first one does.
func TestAnAttackerWhoRefusesTheFirstHandshakeGetsNoPassword(t *testing.T) {
	front := httptest.NewTLSServer(http.NotFoundHandler())
	defer front.Close()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	own, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	sum := sha256.Sum256(own)

	pinned := configOfServer(front)
	authority := pinned
	authority.Fingerprint, authority.RootCAs = "", x509.NewCertPool()
	authority.RootCAs.AddCert(front.Certificate())
	fooled := pinned
	fooled.Fingerprint = hex.EncodeToString(sum[:])
	for name, test := range map[string]struct {
		config bmc.Config
		shown  []byte // the attacker's certificate
		passes bool
	}{
		"its own certificate, and a pin":        {pinned, own, false},
		"its own certificate, and an authority": {authority, own, false},
		"the BMC's, and a pin":                  {pinned, front.Certificate().Raw, false},
		"the BMC's, and an authority":           {authority, front.Certificate().Raw, false},
		"its own, which is pinned":              {fooled, own, true}, // the test would see it
	} {
		t.Run(name, func(t *testing.T) {
			done := false
			a := startAttacker(t, refusal, func(conn net.Conn) {
				server := tls.Server(conn, &tls.Config{
					Certificates: []tls.Certificate{{Certificate: [][]byte{test.shown}, PrivateKey: key}},
					MaxVersion:   tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_256_GCM_SHA384},
				})
				done = done || server.HandshakeContext(t.Context()) == nil
			})
			_, err := newVerifier(t, a.config(test.config)).Verify(t.Context())
			offered := a.stop()
			require.Equal(t, test.passes, done)
			if !test.passes {
				require.Equal(t, []bool{false, true}, offered)
				require.ErrorIs(t, err, verify.TLS)
			}
		})
	}
}
