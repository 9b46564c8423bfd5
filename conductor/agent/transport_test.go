// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

// TestNoErrorHasTheToken causes each kind of error. The agent repeats the URL of the request, which contains the token.
func TestNoErrorHasTheToken(t *testing.T) {
	echo := func(status int) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"faultstring": %q, "command_name": "x", "command_status": "FAILED", "command_error": {"type": "TypeError", "code": 500, "details": %q}}`, r.URL, r.URL)
		}
	}
	answers := map[string]func(http.ResponseWriter, *http.Request, string){
		"refused": echo(http.StatusUnauthorized), "busy": echo(http.StatusConflict), "type error": echo(http.StatusOK), "no JSON": always(200, token), "cut off": nil,
		"redirect": func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "http://"+token+"/", http.StatusFound)
		},
		"unknown status": func(w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = fmt.Fprintf(w, `{"command_status": %q, "command_result": %q}`, r.URL, r.URL)
		},
		"nonsense": func(w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = fmt.Fprintf(w, `{"command_status": "SUCCEEDED", "command_result": {"x": %q}}`, r.URL)
		},
	}
	for name, answer := range answers {
		s, c := listen(t, answer)
		if answer == nil {
			s.Close()
		}
		_, failed := execute(t.Context(), c)
		_, noSteps := c.Steps(t.Context(), agent.Clean, agent.Machine{})
		_, noCommands := c.Commands(t.Context())
		_, noUUIDs := c.PartitionUUIDs(t.Context())
		for _, err := range []error{failed, noSteps, noCommands, noUUIDs, c.Sync(t.Context()), c.PowerOff(t.Context()), c.FinalizeRescue(t.Context(), "x"), c.InstallBootloader(t.Context(), agent.Bootloader{})} {
			for ; err != nil; err = errors.Unwrap(err) {
				require.NotContains(t, fmt.Sprintf("%+v", err), token, name)
			}
		}
		require.Error(t, noSteps, name)
	}
}

func TestOnlyTheCertificateOfTheHeartbeatIsTrusted(t *testing.T) {
	own, other := issue(t), issue(t)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
	start := func(certificate tls.Certificate) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"commands": []}`) }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the refused handshakes
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	s := start(own)
	_, err := connect(t, agent.Config{URL: s.URL, VerifyCA: certificate}).Commands(t.Context())
	require.NoError(t, err)

	_, err = connect(t, agent.Config{URL: s.URL}).Commands(t.Context())
	require.ErrorIs(t, err, agent.ErrConnection, "no authority of the operating system has signed it")
	var unknown *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unknown)

	_, err = connect(t, agent.Config{URL: start(other).URL, VerifyCA: certificate}).Commands(t.Context())
	require.ErrorAs(t, err, &unknown, "another certificate than that of the heartbeat")

	_, err = connect(t, agent.Config{URL: s.URL, SkipVerify: true}).Commands(t.Context())
	require.NoError(t, err)

	_, err = agent.New(agent.Config{URL: s.URL, VerifyCA: "no certificate"})
	require.ErrorIs(t, err, agent.ErrConnection)
}

// issue returns a certificate that nobody has signed, for 127.0.0.1, as an agent makes it.
func issue(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		Subject: pkix.Name{CommonName: "agent"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestURLsThatNoAgentHasAreRefused(t *testing.T) {
	for _, address := range []string{"", "ftp://10.0.0.1", "10.0.0.1:9999", "http://", "http://user:secret@10.0.0.1", "http://10.0.0.1/?a=b", "http://10.0.0.1/#a", "://"} {
		_, err := agent.New(agent.Config{URL: address})
		require.ErrorIs(t, err, agent.ErrConnection, address)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	many := func(text string, n int) string { return strings.Repeat(text+",", n) + text }
	for name, text := range map[string]string{
		"size":          `{"commands": [], "x": "` + strings.Repeat("x", 17<<20) + `"}`,
		"depth":         strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
		"values":        `{"commands": [], "x": [` + many("1", 300_000) + `]}`,
		"commands":      `{"commands": [` + many("{}", 3000) + `]}`,
		"a description": `{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {}, "clean_steps": {"M": [{"interface": "deploy", "step": "x", "priority": 1, "argsinfo": {"a": {"description": "` + strings.Repeat("x", 300<<10) + `"}}}]}}}`,
		"steps":         `{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {}, "clean_steps": {"M": [` + many(`{"interface": "deploy", "step": "x", "priority": 1}`, 600) + `]}}}`,
		"a name":        `{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {}, "clean_steps": {"M": [{"interface": "deploy", "step": "` + strings.Repeat("x", 200) + `", "priority": 1}]}}}`,
	} {
		_, c := listen(t, always(200, text))
		_, err := c.Commands(t.Context())
		if strings.Contains(text, "command_result") {
			_, err = c.Steps(t.Context(), agent.Clean, agent.Machine{})
		}
		require.ErrorIs(t, err, agent.ErrAnswer, name)
		require.Less(t, len(err.Error()), 2049)
	}
}

// silent returns the address of a listener that accepts and never answers.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}

func TestASilentAgentIsWaitedForOnlyUntilTheTimeout(t *testing.T) {
	address := silent(t)
	_, err := connect(t, agent.Config{URL: address, Timeout: 10 * time.Millisecond}).Commands(t.Context())
	require.ErrorIs(t, err, agent.ErrConnection)
	require.Contains(t, err.Error(), "no answer within 10ms")

	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the work has ended")
	time.AfterFunc(10*time.Millisecond, func() { cancel(stopped) })
	_, err = execute(ctx, connect(t, agent.Config{URL: address}))
	require.ErrorIs(t, err, stopped)
}
