// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// Some BMCs have cipher suites with RSA key exchange alone, such as H3C's. The server chooses the suite: one that has
// others as well is not offered RSA.
func TestRSAKeyExchangeIsUsedIfTheBMCHasNoOther(t *testing.T) {
	const gcm, cbc = tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_256_CBC_SHA
	const ecdhe, broken = tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_RC4_128_SHA
	for name, test := range map[string]struct {
		has  []uint16
		used uint16 // 0 for none
	}{
		"GCM": {[]uint16{gcm}, gcm}, "CBC": {[]uint16{cbc, broken}, cbc}, "both": {[]uint16{gcm, cbc, ecdhe}, ecdhe},
		"RC4": {[]uint16{broken}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var used atomic.Uint32
			var offered atomic.Bool
			service := &fuzzedBMC{}
			front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				used.Store(uint32(r.TLS.CipherSuite))
				service.ServeHTTP(w, r)
			}))
			front.Config.ErrorLog = log.New(io.Discard, "", 0)
			front.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: test.has}
			front.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				if slices.Contains(hello.CipherSuites, gcm) || slices.Contains(hello.CipherSuites, cbc) {
					offered.Store(true)
				}
				return nil, nil
			}
			front.StartTLS()
			defer front.Close()
			config := configOfServer(front)
			config.SystemID, config.Fingerprint, config.RootCAs = "1", "", x509.NewCertPool()
			config.RootCAs.AddCert(front.Certificate())
			_, err := newVerifier(t, config).Verify(t.Context())
			require.EqualValues(t, test.used, used.Load())
			require.Equal(t, test.used != ecdhe, offered.Load(), "RSA is offered only after a refusal")
			if test.used == 0 {
				require.ErrorIs(t, err, verify.TLS)
				return
			}
			require.NoError(t, err)

			config.RootCAs = nil
			_, err = newVerifier(t, config).Verify(t.Context())
			require.ErrorIs(t, err, verify.TLS, "the certificate is verified")
		})
	}
}

// refusingOnce refuses the first handshake.
type refusingOnce struct {
	net.Listener
	done bool // used by the server's goroutine alone
}

func (l *refusingOnce) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil || l.done {
		return conn, err
	}
	l.done = true
	_, _ = conn.Read(make([]byte, 4096))
	_, _ = conn.Write(refusal)
	_ = conn.Close()
	return l.Listener.Accept()
}

// A BMC that has used RSA is offered it at once while its connection is kept, and not by the next one.
func TestRSAKeyExchangeIsOfferedAtOnceInTheConnectionThatNeededIt(t *testing.T) {
	const rsa, ecdhe = tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	for _, test := range []struct {
		has    []uint16
		listen func(net.Listener) net.Listener
		all    bool // the handshakes of the second call offer RSA, or none does
	}{
		{[]uint16{rsa}, func(l net.Listener) net.Listener { return l }, true},
		{[]uint16{rsa, ecdhe}, func(l net.Listener) net.Listener { return &refusingOnce{Listener: l} }, false},
	} {
		var offers []bool // by handshake that is not refused by the listener: whether RSA was offered
		var mu sync.Mutex
		front := httptest.NewUnstartedServer(&fuzzedBMC{})
		front.Listener = test.listen(front.Listener)
		front.Config.ErrorLog = log.New(io.Discard, "", 0)
		front.Config.SetKeepAlivesEnabled(false)
		front.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: test.has}
		front.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			mu.Lock()
			defer mu.Unlock()
			offers = append(offers, slices.Contains(hello.CipherSuites, rsa))
			return nil, nil
		}
		front.StartTLS()
		defer front.Close()
		config := configOfServer(front)
		config.SystemID = "1"
		offered := func(call func() error) []bool {
			require.NoError(t, call())
			mu.Lock()
			defer mu.Unlock()
			seen := offers
			offers = nil
			return seen
		}
		kept := newDriver(t, 1, map[string]bmc.Config{"node": config})
		call := func() error {
			_, err := kept.PowerState(t.Context(), "node")
			return err
		}
		require.Contains(t, offered(call), true)
		require.Equal(t, []bool{test.all}, offered(call))
		first := offered(func() error {
			_, err := newVerifier(t, config).Verify(t.Context())
			return err
		})
		require.False(t, first[0])
	}
}
