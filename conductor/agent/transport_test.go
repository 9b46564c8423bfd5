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
	"encoding/json"
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
	"github.com/ironstate/ironstate/verify/secret"
)

// TestNoErrorHasTheToken causes each kind of error. The agent repeats the URL of the request, which contains the token.
func TestNoErrorHasTheToken(t *testing.T) {
	echo := func(status int) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			w.WriteHeader(status)
			twice := fmt.Sprint(r.URL, " and ", r.URL)
			_, _ = fmt.Fprintf(w, `{"faultstring": %q, "command_name": "x", "command_status": "FAILED", `+
				`"command_error": {"type": "TypeError", "code": 500, "details": %q}}`, twice, twice)
		}
	}
	answers := map[string]func(http.ResponseWriter, *http.Request, string){
		"refused":    echo(http.StatusUnauthorized),
		"busy":       echo(http.StatusConflict),
		"type error": echo(http.StatusOK),
		"no JSON":    always(200, token),
		"cut off":    func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) },
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
		_, c := listen(t, answer)
		_, failed := execute(t.Context(), c)
		_, noSteps := c.Steps(t.Context(), agent.Clean, agent.Machine{})
		_, noCommands := c.Commands(t.Context())
		_, noUUIDs := c.PartitionUUIDs(t.Context())
		for _, err := range []error{
			failed, noSteps, noCommands, noUUIDs, c.Sync(t.Context()), c.PowerOff(t.Context()), c.FinalizeRescue(t.Context(), "x"),
			c.InstallBootloader(t.Context(), agent.Bootloader{}),
		} {
			for _, err := range tree(err) {
				require.NotContains(t, fmt.Sprintf("%+v", err), token, name)
			}
		}
		require.Error(t, noSteps, name)
	}
}

func TestNoVerdictAndNoResultHasTheToken(t *testing.T) {
	for _, answer := range []string{
		`{"command_name": "execute_clean_step", "command_status": "FAILED", "command_error": {"details": "at %[1]s and %[1]s"}}`,
		`{"command_name": "execute_clean_step", "command_status": "%s"}`,
		`{"command_name": "execute_clean_step", "command_status": "SUCCEEDED", "command_result": {"clean_result": "%s"}}`,
	} {
		command := fmt.Sprintf(answer, token)
		_, c := listen(t, always(http.StatusOK, `{"commands": [`+command+`]}`))
		listed, err := c.Commands(t.Context())
		require.NoError(t, err)
		_, c = listen(t, always(http.StatusOK, command))
		executed, err := execute(t.Context(), c)
		require.NoError(t, err)
		for _, command := range append(listed, executed) {
			text, err := json.Marshal(command)
			require.NoError(t, err)
			require.NotContains(t, string(text), token)
			require.Contains(t, string(text), "******")
			_, reason := agent.Judge(agent.Clean, node, agent.Current{Sent: true}, []agent.Command{command})
			require.NotContains(t, reason, token)
		}
	}
}

func TestATokenThatNoAgentAcceptsIsNotMasked(t *testing.T) {
	s, _ := listen(t, always(http.StatusOK, `{"commands": [{"command_status": "`+token+`"}]}`))
	for length, want := range map[int]string{31: token, 32: "******" + token[32:]} {
		c, err := agent.New(agent.Config{URL: s.URL, Token: secret.New(token[:length])})
		require.NoError(t, err)
		listed, err := c.Commands(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, want, listed[0].Status)
	}
}

// tree returns an error and everything that it wraps.
func tree(err error) []error {
	all := []error{err}
	switch err := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() error }:
		all = append(all, tree(err.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, err := range err.Unwrap() {
			all = append(all, tree(err)...)
		}
	}
	return all
}

func TestOnlyTheCertificateOfTheHeartbeatIsTrusted(t *testing.T) {
	own, other := issue(t), issue(t)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
	start := func(certificate tls.Certificate) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"commands": []}`)
		}))
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
	require.ErrorAs(t, err, &unknown, "the certificate differs from the heartbeat's")

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
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		Subject: pkix.Name{CommonName: "agent"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestURLsThatNoAgentHasAreRefused(t *testing.T) {
	for _, address := range []string{"", "ftp://10.0.0.1", "10.0.0.1:9999", "http://", "http://user:secret@10.0.0.1",
		"http://10.0.0.1/?a=b", "http://10.0.0.1/#a", "://",
		"http://10.0.0.1/v1", "http://10.0.0.1//", "http://10.0.0.1/%2e", "http://10.0.0.1?", "http:10.0.0.1",
		"http://:9999", "http://10.0.0.1:0", "http://10.0.0.1:65536",
		"http://a\u202e", "http://a\u009b:9999", "http://" + strings.Repeat("a", 2048)} {
		_, err := agent.New(agent.Config{URL: address})
		require.ErrorIs(t, err, agent.ErrConnection, address)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestThePathOfACommandIsTheClientsToChoose(t *testing.T) {
	paths := make(chan string, 2)
	s, _ := listen(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		paths <- r.URL.Path
		_, _ = io.WriteString(w, `{"commands": []}`)
	})
	for _, end := range []string{"", "/"} {
		_, err := connect(t, agent.Config{URL: s.URL + end}).Commands(t.Context())
		require.NoError(t, err)
		require.Equal(t, "/v1/commands/", <-paths)
	}
}

// SECURITY.md: Redirects of agents are not followed.
func TestARedirectOfAnAgentIsNotFollowed(t *testing.T) {
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		elsewhere, _ := listen(t, func(http.ResponseWriter, *http.Request, string) { t.Error("a redirect was followed") })
		_, c := listen(t, func(w http.ResponseWriter, r *http.Request, _ string) { http.Redirect(w, r, elsewhere.URL, status) })
		_, err := execute(t.Context(), c)
		require.Error(t, err)
		_, err = c.Commands(t.Context())
		require.Error(t, err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	many := func(text string, n int) string { return strings.Repeat(text+",", n-1) + text }
	steps := func(list string) string {
		return `{"command_status": "SUCCEEDED", "command_result": {"hardware_manager_version": {}, "clean_steps": {"M": [` + list + `]}}}`
	}
	step := func(kind, name, description string) string {
		return `{"interface": "` + kind + `", "step": "` + name + `", "priority": 1, "argsinfo": {"a": {"description": "` + description + `"}}}`
	}
	long := strings.Repeat("x", 128)
	const around = len(`{"command_status": "SUCCEEDED", "command_result": }`)
	for name, test := range map[string]struct {
		answer func(over int) string // that exceeds the bound by over
		text   string                // of the error
	}{
		"size": {func(over int) string {
			return `{"commands": [], "x": "` + strings.Repeat("x", 4<<20-len(`{"commands": [], "x": ""}`)+over) + `"}`
		}, "more than 4194304 bytes"},
		"depth": {func(over int) string {
			return `{"commands": [], "x": ` + strings.Repeat(`[`, 63+over) + strings.Repeat("]", 63+over) + `}`
		}, "more than 64 of them within each other"},
		"texts": {func(over int) string { // the last one fills the answer
			list := many(`"`+strings.Repeat("x", 16<<10)+`"`, 31)
			left := 512<<10 - len(list) - len(`{"commands": [], "x": [,""]}`)
			return `{"commands": [], "x": [` + list + `,"` + strings.Repeat("x", left+over) + `"]}`
		}, "more than 524288 bytes in texts of up to 16384 bytes"},
		"values": {func(over int) string { return `{"commands": [], "x": [` + many("1", 19_996+over) + `]}` }, "more than 20000 values"},
		"a result": {func(over int) string {
			list := many(step("deploy", "x", strings.Repeat("x", 16_000)), 6)
			left := 96<<10 - (len(steps(list)) - around) - len(step("deploy", "x", "")) - 1 - len("SUCCEEDED")
			return steps(list + "," + step("deploy", "x", strings.Repeat("x", left+over)))
		}, "reports a command with more than 98304 bytes"},
		"a listed command": {func(over int) string {
			list := many(`"`+strings.Repeat("x", 16_000)+`"`, 6)
			left := 96<<10 - len(list) - len(`[,""]`) - len("no") - len("name")
			return `{"commands": [{"id": "no", "command_name": "name", "command_error": [` + list + `,"` + strings.Repeat("x", left+over) + `"]}]}`
		}, "reports a command with more than 98304 bytes"},
		"steps": {func(over int) string { return steps(many(step("deploy", "x", ""), 250+over)) },
			"returned 251 steps with 251 arguments, more than 250 or 1000"},
		"arguments": {func(over int) string {
			list := make([]string, 1000+over)
			for i := range list {
				list[i] = fmt.Sprintf(`"%d": {}`, i)
			}
			return steps(`{"interface": "deploy", "step": "x", "priority": 1, "argsinfo": {` + strings.Join(list, ",") + `}}`)
		}, "returned 1 steps with 1001 arguments"},
		"versions": {func(over int) string {
			return strings.Replace(steps(""), `"hardware_manager_version": {}`,
				`"hardware_manager_version": {"a": [`+many("1", 98+over)+`]}`, 1)
		}, "returned more than 100 versions"},
		"a name":        {func(over int) string { return steps(step("deploy", long+long[:over], "")) }, "invalid clean step"},
		"ESC in a name": {func(over int) string { return steps(step("deploy", `x`+[]string{"", `\u001b`}[over], "")) }, "invalid clean step"},
		"an interface":  {func(over int) string { return steps(step(long+long[:over], "x", "")) }, "invalid clean step"},
		"no name":       {func(over int) string { return steps(step("deploy", "x"[over:], "")) }, "invalid clean step"},
		"no interface":  {func(over int) string { return steps(step("x"[over:], "x", "")) }, "invalid clean step"},
		"a name that is no text": {func(over int) string {
			return steps(`{"interface": "deploy", "priority": 1, "step": ` + []string{`"x"`, "7"}[over] + `}`)
		}, "invalid clean step"},
	} {
		for over := range 2 {
			text := test.answer(over)
			s, _ := listen(t, always(200, text))
			c := connect(t, agent.Config{URL: s.URL, MaxAnswer: 4 << 20})
			_, err := c.Commands(t.Context())
			if strings.Contains(text, "command_result") {
				_, err = c.Steps(t.Context(), agent.Clean, agent.Machine{})
			}
			if over == 0 {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorIs(t, err, agent.ErrAnswer, name)
			require.ErrorContains(t, err, test.text, name)
			require.Less(t, len(err.Error()), 2049)
		}
	}
}

func TestAnAnswerOfUsualSizeIsRead(t *testing.T) {
	for size, want := range map[int]error{16 << 20: nil, 16<<20 + 1: agent.ErrAnswer} {
		_, c := listen(t, always(200, `{"commands": [], "x": "`+strings.Repeat("x", size-len(`{"commands": [], "x": ""}`))+`"}`))
		_, err := c.Commands(t.Context())
		require.ErrorIs(t, err, want)
	}
	_, c := listen(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("X", strings.Repeat("x", 100<<10))
		_, _ = io.WriteString(w, `{"commands": []}`)
	})
	_, err := c.Commands(t.Context())
	require.ErrorIs(t, err, agent.ErrConnection, "a header is 64 KiB at most")
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
	require.Equal(t, stopped, err, "it is no failure of the agent")
	_, err = connect(t, agent.Config{URL: address}).Commands(ctx)
	require.Equal(t, stopped, err)
}
