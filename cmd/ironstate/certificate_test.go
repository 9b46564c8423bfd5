// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/front"
	"github.com/ironstate/ironstate/internal/bubble"
)

// issue writes a new certificate and its key.
func issue(t *testing.T, certificate, key string) (raw []byte) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	raw, err = x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	return raw
}

func TestARenewedCertificateIsUsedOnceItsFilesMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		certificate, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
		var log strings.Builder
		first := issue(t, certificate, key)
		files, err := readCertificate(certificate, key, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		shows := func(want []byte, after string) {
			t.Helper()
			pair, err := files.get(nil)
			require.NoError(t, err)
			require.Equal(t, want, pair.Certificate[0])
			require.Contains(t, log.String(), after)
			log.Reset()
		}
		old, err := os.ReadFile(key)
		require.NoError(t, err)
		second := issue(t, certificate, key)
		renewed, err := os.ReadFile(key)
		require.NoError(t, err)
		shows(first, "")
		require.NoError(t, os.WriteFile(key, old, 0o600)) // the files are being replaced
		bubble.Sleep(rereadInterval)
		shows(first, "private key does not match public key")
		require.NoError(t, os.Remove(key))
		bubble.Sleep(rereadInterval)
		shows(first, "no such file")
		bubble.Sleep(rereadInterval)
		_, err = files.get(nil)
		require.NoError(t, err)
		require.Empty(t, log.String(), "the same failure is told once")
		require.NoError(t, os.WriteFile(key, renewed, 0o600))
		shows(first, "")
		files.reading.Lock() // another client reads
		bubble.Sleep(rereadInterval)
		shows(first, "")
		files.reading.Unlock()
		shows(second, "the certificate was renewed")
		bubble.Sleep(rereadInterval)
		shows(second, "")
		require.Empty(t, log.String())
	})
}

func TestTheServerAsksForItsCertificateAtEachHandshake(t *testing.T) {
	certificate, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	issue(t, certificate, key)
	quiet := slog.New(slog.DiscardHandler)
	config, err := (&serverFlags{tlsCert: certificate, tlsKey: key, tlsLowest: tls.VersionTLS12}).tlsConfig(quiet)
	require.NoError(t, err)
	var asked atomic.Int32
	get := config.GetCertificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		asked.Add(1)
		return get(hello)
	}
	server, err := front.Listen("127.0.0.1:0", nil, front.Config{Limits: front.NewLimits(), TLS: config, Log: quiet})
	require.NoError(t, err)
	defer server.Close()
	for n := range int32(2) {
		conn, err := tls.Dial("tcp", server.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.Equal(t, n+1, asked.Load())
	}
}
