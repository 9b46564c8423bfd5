// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) {
	if programtest.Main(main) {
		return
	}
	os.Exit(m.Run())
}

func TestTheBuiltInBMCsAreEnrolledAndDriven(t *testing.T) {
	s := serveHere(t)
	_, list := s.do(http.MethodGet, "/v1/nodes", "")
	require.Len(t, list["nodes"], 3)
	s.provision("demo-1", "manage")
	require.Equal(t, "power off", s.waitFor("demo-1", "manageable")["power_state"])
	s.provision("demo-1", "provide")
	shown := s.waitFor("demo-1", "available")
	require.Equal(t, "******", shown["driver_info"].(map[string]any)["redfish_password"])
	status, _ := s.do(http.MethodPut, "/v1/nodes/demo-1/states/power", `{"target": "power on"}`)
	require.Equal(t, http.StatusAccepted, status)
	for s.waitFor("demo-1", "available")["power_state"] != "power on" {
		time.Sleep(5 * time.Millisecond)
	}

	metrics := s.metrics()
	require.Contains(t, metrics, `conductor_nodes{provision_state="enroll"} 2`)
	require.Contains(t, metrics, `conductor_transitions_total{from="enroll",to="verifying"} 1`)
	require.Contains(t, metrics, `conductor_request_duration_seconds_count{method="GET",status="200"}`)
	s.kill() // so that errOut is complete
	require.NotContains(t, s.errOut.String(), "password\"")
}

func TestTheBuiltInBMCsAreEnrolledInTheInitialStateOfEachSeries(t *testing.T) {
	for series := range states.AllSeries() {
		s := serveHere(t, "-series", series.String(), "-demo", "1")
		want := "enroll"
		if series == states.Kilo {
			want = "available"
		}
		_, shown := s.do(http.MethodGet, "/v1/nodes/demo-1", "")
		require.Equal(t, want, shown["provision_state"], "%v", series)
		s.kill()
	}
}

func TestTheBuiltInBMCsOfAnEarlierStartAreReadAtTheirNewAddresses(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "1")
	s.provision("demo-1", "manage")
	s.waitFor("demo-1", "manageable")
	require.FileExists(t, filepath.Join(data, "demo", "demo-1.pem"))
	s.kill()
	s = serveProcess(t, "-data", data, "-demo", "1")
	const read = "conductor_power_sync_nodes_total{outcome=\"%s\"} 1\n"
	for !strings.Contains(s.metrics(), fmt.Sprintf(read, "equal")) {
		require.NotContains(t, s.metrics(), fmt.Sprintf(read, "read_failed"))
		time.Sleep(5 * time.Millisecond)
	}
	s.stop()
	require.NoDirExists(t, filepath.Join(data, "demo"))
}

func TestNoExampleEntersAStoredFleetUnasked(t *testing.T) {
	needs.Time(t)
	etcd := startEtcd(t)
	for _, store := range [][]string{
		{"-data", filepath.Join(t.TempDir(), "data")}, {"-etcd", etcd},
		{"-data", filepath.Join(t.TempDir(), "data"), "-name", "alpha", "-cluster", cluster(t, "alpha")},
	} {
		for _, test := range []struct {
			demo []string
			want int
		}{{nil, 0}, {[]string{"-demo", "2"}, 2}} {
			s := serveProcess(t, append(test.demo, store...)...)
			_, list := s.do(http.MethodGet, "/v1/nodes", "")
			require.Len(t, list["nodes"], test.want, "%v %v", store, test.demo)
			s.stop()
		}
	}
}

func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	needs.Time(t)
	data := filepath.Join(t.TempDir(), "data")
	s := serveProcess(t, "-data", data, "-demo", "0", "-name", "alpha")
	for _, name := range []string{"one", "two"} {
		status, answer := s.do(http.MethodPost, "/v1/nodes", `{"name": "`+name+`", "driver": "fake-hardware"}`)
		require.Equal(t, http.StatusCreated, status, "%v", answer)
	}
	s.provision("one", "manage")
	s.kill() // soon after the response: the request was accepted
	s = serveProcess(t, "-data", data, "-demo", "0", "-name", "alpha")
	_, list := s.do(http.MethodGet, "/v1/nodes", "")
	require.Len(t, list["nodes"], 2)
	for ended := false; !ended; time.Sleep(5 * time.Millisecond) {
		_, shown := s.do(http.MethodGet, "/v1/nodes/one", "")
		state := shown["provision_state"]
		// The work has failed only if it was in flight when the process was killed.
		ended = shown["reservation"] == nil && (state == "manageable" || state == "enroll" && shown["last_error"] != nil)
	}
	s.provision("two", "manage")
	s.waitFor("two", "manageable")
}

func TestASecondProcessDoesNotOpenTheSameFolder(t *testing.T) {
	needs.Time(t)
	data := filepath.Join(t.TempDir(), "data")
	serveProcess(t, "-data", data, "-demo", "0")
	var out, errOut bytes.Buffer
	second := programtest.Command("-data", data, "-demo", "0")
	second.Stdout, second.Stderr = &out, &errOut
	require.Error(t, second.Run())
	require.Equal(t, program.Failed, second.ProcessState.ExitCode())
	require.Contains(t, errOut.String(), data)
	require.NotContains(t, out.String(), "listening")
}

func TestSIGTERMEndsTheProgramWithStatus0(t *testing.T) {
	needs.Time(t)
	for _, args := range [][]string{{"-demo", "0"}, {"-data", filepath.Join(t.TempDir(), "data")}} {
		s := serveProcess(t, args...)
		s.stop()
	}
}

func TestACleanStopLogsNoError(t *testing.T) {
	needs.Time(t)
	for _, args := range [][]string{
		{"-demo", "1"}, {"-data", filepath.Join(t.TempDir(), "data"), "-demo", "1"}, {"-etcd", startEtcd(t)},
		{"-data", filepath.Join(t.TempDir(), "data"), "-name", "alpha", "-cluster", cluster(t, "alpha")},
	} {
		s := serveProcess(t, append(args, "-log-level", "ERROR")...)
		require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
		require.NoError(t, s.process.Wait())
		require.Empty(t, s.errOut.String(), "%v", args)
	}
}

func TestClientsNeedAPasswordIfUsersAreConfigured(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "users")
	require.NoError(t, os.WriteFile(file, []byte("# operators\n\nadmin:"+string(hash)+"\n"), 0o600))
	certificate, key, pool := newCertificate(t)
	s := serveHere(t, "-demo", "0", "-auth-file", file, "-tls-cert", certificate, "-tls-key", key, "-listen", "127.0.0.1:0")
	require.True(t, strings.HasPrefix(s.url, "https://"))
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	for _, test := range []struct {
		path string
		user []string
		want int
	}{
		{"/v1/nodes", nil, http.StatusUnauthorized},
		{"/v1/nodes", []string{"admin", "wrong horse"}, http.StatusUnauthorized},
		{"/v1/nodes", []string{"nobody", "correct horse"}, http.StatusUnauthorized},
		{"/v1/nodes", []string{"admin", "correct horse"}, http.StatusOK},
		{"/v1/nodes", []string{"admin", "correct horse"}, http.StatusOK},
		{"/metrics", nil, http.StatusUnauthorized},
		{"/v1/", nil, http.StatusOK},
		{"/", nil, http.StatusOK},
		{"/v1/lookup?addresses=52:54:00:12:34:56", nil, http.StatusNotFound},
		{"/v1/lookup/", nil, http.StatusBadRequest},
		{"/v1/heartbeat/1be26c0b-03f2-4d2e-ae87-c02d7f33c123", nil, http.StatusMethodNotAllowed},
		{"/v1/heartbeat/x/y", nil, http.StatusUnauthorized},
		{"/v1/continue_inspection", nil, http.StatusMethodNotAllowed},
		{"/v1/continue_inspection/x", nil, http.StatusUnauthorized},
		{"/v1/lookups", nil, http.StatusUnauthorized},
	} {
		status, _ := s.do(http.MethodGet, test.path, "", test.user...)
		require.Equal(t, test.want, status, "%s as %v", test.path, test.user)
	}
	address := s.url[strings.LastIndexByte(s.url, '/')+1:]
	require.Equal(t, http.StatusUnauthorized,
		answers(t, address, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")[0])
	for _, path := range []string{"/", "/explorer/live.js", "/explorer/events", "/explorer/nodes", "/explorer/nodes/x"} {
		answer, _ := s.browse(path)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%s for a browser", path)
		require.Equal(t, `Basic realm="Baremetal API"`, answer.Header.Get("WWW-Authenticate"), "so that the browser asks for the password")
	}
	answer, page := s.browse("/", "admin", "correct horse")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Contains(t, page, "<!DOCTYPE html>")
}

func TestSIGTERMEndsTheProgramWhileABrowserIsConnected(t *testing.T) {
	needs.Time(t)
	s := serveProcess(t, "-demo", "1", "-fleet-name", "Hall 2")
	response, err := s.client.Get(s.url + "/explorer/events")
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	require.Contains(t, lines.Text(), `"counts":{"enroll":1}`)
	require.Contains(t, lines.Text(), `"title":"Hall 2"`)
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the stream is ended, not cut off")
	require.NoError(t, s.process.Wait(), "%s", &s.errOut)
}

// newCertificate writes a certificate for 127.0.0.1 and its key.
func newCertificate(t *testing.T) (certificate, key string, pool *x509.CertPool) {
	t.Helper()
	lent := httptest.NewUnstartedServer(nil)
	lent.StartTLS()
	defer lent.Close()
	made := lent.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	require.NoError(t, err)
	certificate, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	pool = x509.NewCertPool()
	pool.AddCert(lent.Certificate())
	return certificate, key, pool
}

// SECURITY.md: The program listens beyond the loopback interface only with `-auth-file` and TLS, unless
// `-insecure-listen-without-auth-and-tls` is given. Beyond the loopback interface they refuse `http`, unless
// `-insecure-cluster-without-tls` is given.
func TestWrongUseIsStatus2(t *testing.T) {
	users, hashed := filepath.Join(t.TempDir(), "users"), filepath.Join(t.TempDir(), "hashed")
	require.NoError(t, os.WriteFile(users, []byte("admin:secret\n"), 0o600))
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(hashed, append([]byte("admin:"), hash...), 0o600))
	tests := []struct {
		args []string
		want string
		code int
	}{
		{[]string{"-listen", "0.0.0.0:6385"}, "which others can reach", program.Usage},
		{[]string{"-listen", ":6385"}, "which others can reach", program.Usage},
		{[]string{"-listen", ":6385", "-auth-file", hashed}, "which others can reach", program.Usage},
		{[]string{"-listen", ":6385", "-tls-cert", "x", "-tls-key", "y"}, "which others can reach", program.Usage},
		{[]string{"-listen", "6385"}, "want host:port", program.Usage},
		{[]string{"-listen", "/run/ironstate.sock"}, "want host:port", program.Usage},
		{[]string{"-agent-listen", "6385"}, `-agent-listen is "6385": want host:port`, program.Usage},
		{[]string{"-agent-listen", "0.0.0.0:6385"}, "tokens could be read on the way", program.Usage},
		{[]string{"-agent-listen", "10.0.0.1:6385", "-auth-file", hashed}, "tokens could be read on the way", program.Usage},
		{[]string{"-agent-listen", "127.0.0.1:99999"}, "listen for agents", program.Failed},
		{[]string{"-series", "nonsense"}, "nonsense", program.Usage},
		{[]string{"-series", ""}, `-series is "": want a series, such as 2023.1`, program.Usage},
		{[]string{"-image-url", "http://192.0.2.1/images", "-image-folder", "x", "-image-listen", "6180"},
			`-image-listen is "6180": want host:port`, program.Usage},
		{[]string{"-etcd", "etcd-1:2379"}, `-etcd: the endpoint "etcd-1:2379" is not a URL`, program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1,"}, `-etcd: the endpoint "" is not a URL`, program.Usage},
		{[]string{"-etcd", "http://admin:secret@127.0.0.1:1"}, `-etcd: the endpoint at "127.0.0.1:1" names a user`, program.Usage},
		{[]string{"-etcd", "https://127.0.0.1:1", "-etcd-cert", "x"}, "-etcd-cert and -etcd-key need each other", program.Usage},
		{[]string{"-demo", "-1"}, "-demo is -1: want 0 to 100", program.Usage},
		{[]string{"-tls-cert", "x"}, "one of them is missing", program.Usage},
		{[]string{"-shutdown-timeout", "0s"}, "want more than 0", program.Usage},
		{[]string{"-check-interval", "0s"}, "-check-interval is 0s: want 100ms or more", program.Usage},
		{[]string{"-check-interval", "99ms"}, "-check-interval is 99ms: want 100ms or more", program.Usage},
		{[]string{"-clean-step-priority", "erase_devices:0"}, "want interface.step:priority", program.Usage},
		{[]string{"-clean-step-priority", "deploy.erase_devices"}, "want interface.step:priority", program.Usage},
		{[]string{"-clean-step-priority", "deploy.erase_devices:-1"}, "want interface.step:priority", program.Usage},
		{[]string{"-power-sync-interval", "-1s"}, "-power-sync-interval is -1s: want 0 or 1s or more", program.Usage},
		{[]string{"-power-sync-interval", "999ms"}, "-power-sync-interval is 999ms: want 0 or 1s or more", program.Usage},
		{[]string{"-power-sync-workers", "0"}, "want more than 0", program.Usage},
		{[]string{"-power-sync-retries", "-1"}, "want 0 or more", program.Usage},
		{[]string{"-fake-delay", "-1s"}, "want 0 or more", program.Usage},
		{[]string{"-cluster", "a=http://127.0.0.1:1"}, `-data is "": want a folder: each server needs one`, program.Usage},
		{[]string{"-cluster", "a=http://127.0.0.1:1", "-data", "x", "-name", "b"}, "want the name of one of the servers", program.Usage},
		{[]string{"-cluster", "a=http://127.0.0.1:1,a=http://127.0.0.1:2", "-data", "x", "-name", "a"}, "each name once", program.Usage},
		{[]string{"-cluster", "http://127.0.0.1:1", "-data", "x", "-name", "a"}, "want name=URL", program.Usage},
		{[]string{"-cluster", "a", "-data", "x", "-name", "a"}, "want name=URL", program.Usage},
		{[]string{"-cluster", "a=http://10.0.0.1:1", "-data", "x", "-name", "a"}, "want https with a certificate", program.Usage},
		{[]string{"-cluster", "a=http://127.0.0.1:1", "-etcd", "http://127.0.0.1:2"}, "exclude each other", program.Usage},
		{[]string{"-cluster", "a=http://127.0.0.1:1", "-data", "x", "-name", "a", "-cluster-replace", "b"},
			"want the name of another of the servers", program.Usage},
		{[]string{"-cluster-replace", "b", "-data", "x"}, "need -cluster", program.Usage},
		{[]string{"-cluster-client", "http://127.0.0.1:1", "-data", "x"}, "need -cluster", program.Usage},
		{[]string{"-insecure-cluster-without-tls", "-data", "x"}, "need -cluster", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-cluster-ca", "ca.pem"}, "need -cluster", program.Usage},
		{[]string{"-etcd-ca", "ca.pem"}, "need -etcd", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-lease", "-5s"}, "-lease is -5s: want 2s to 8760h0m0s", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-lease", "0s"}, "-lease is 0s: want 2s to 8760h0m0s", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-lease", "1.999s"}, "-lease is 1.999s: want 2s to 8760h0m0s", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-lease", "2562047h"}, "-lease is 2562047h0m0s: want 2s to 8760h0m0s", program.Usage},
		{[]string{"-log-format", "xml"}, "want text or json", program.Usage},
		{[]string{"-name", "alpha\nbeta"}, `-name is "alpha\nbeta": want no control characters`, program.Usage},
		{[]string{"-name", "alpha\x1b[2J"}, `-name is "alpha\x1b[2J": want no control characters`, program.Usage},
		{[]string{"-api-url", "http://agent:secret@192.0.2.1:6385"}, "-api-url: it has a user or a password", program.Usage},
		{[]string{"-api-url", "http://agent:secret@192.0.2.1:port"}, `-api-url is "http://agent:******@192.0.2.1:port": want`, program.Usage},
		{[]string{"-agent-verify-ca", "no-such-file"}, `-agent-verify-ca is "no-such-file": want true, false, or a file`, program.Usage},
		{[]string{"-agent-verify-ca", users}, "want true, false, or a file with certificates in PEM", program.Usage},
		{[]string{"-lease", "30s"}, "-lease needs -etcd or -cluster", program.Usage},
		{[]string{"-lease", "30s", "-data", "x"}, "-lease needs -etcd or -cluster", program.Usage},
		{[]string{"-deploy-kernel", "http://192.0.2.1/kernel"}, "one of them is missing", program.Usage},
		{[]string{"-deploy-ramdisk", "http://192.0.2.1/ramdisk"}, "one of them is missing", program.Usage},
		{[]string{"-backup", "x"}, "-backup needs -data or -etcd", program.Usage},
		{[]string{"-data", "x", "-backup", ""}, `-backup is "": want a value`, program.Usage},
		{[]string{"-data", "x", "-restore", ""}, `-restore is "": want a value`, program.Usage},
		{[]string{"-auth-file", ""}, `-auth-file is "": want a value`, program.Usage},
		{[]string{"-tls-cert", "", "-tls-key", ""}, `-tls-cert is "": want a value`, program.Usage},
		{[]string{"-etcd", ""}, `-etcd is "": want a value`, program.Usage},
		{[]string{"-cluster", ""}, `-cluster is "": want a value`, program.Usage},
		{[]string{"-restore", "x"}, "-restore needs -data", program.Usage},
		{[]string{"-etcd", "http://127.0.0.1:1", "-restore", "x"}, "-restore needs -data: restore another etcd cluster", program.Usage},
		{[]string{"-data", "x", "-backup", "y", "-restore", "y"}, "exclude each other", program.Usage},
		{[]string{"-bogus"}, "flag provided but not defined: -bogus, see -h", program.Usage},
		{[]string{"-data", "x", "-etcd", "http://127.0.0.1:2"}, "exclude each other", program.Usage},
		{[]string{"-cluster", "a=https://127.0.0.1:1", "-data", t.TempDir(), "-name", "a"},
			`-cluster-cert is "": want a file, since the servers have https`, program.Usage},
		{[]string{"more"}, "unexpected argument", program.Usage},
		{[]string{"-auth-file", users}, "line 1", program.Failed},
		{[]string{"-auth-file", "no-such-file"}, "no-such-file", program.Failed},
		{[]string{"-tls-cert", "no-such-file", "-tls-key", "no-such-key"}, "-tls-cert and -tls-key: open no-such-file", program.Failed},
		{[]string{"-listen", "127.0.0.1:99999"}, "listen", program.Failed},
	}
	for _, test := range tests {
		var errOut bytes.Buffer
		code := program.Run("ironstate", test.args, io.Discard, &errOut, serve)
		require.Equal(t, test.code, code, "%v", test.args)
		require.Contains(t, errOut.String(), test.want, "%v", test.args)
		require.NotContains(t, errOut.String(), "secret")
	}
}

func TestAServiceThatIsStoppedWhileItsStoreIsOpenedEndsWithoutAnErrorAndABackupWithOne(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	require.NoError(t, serve(ctx, []string{"-etcd", "http://127.0.0.1:1"}, &out, io.Discard))
	require.NoError(t, serve(ctx, []string{"-data", filepath.Join(t.TempDir(), "data")}, &out, io.Discard))
	backup := filepath.Join(t.TempDir(), "backup")
	require.ErrorIs(t, serve(ctx, []string{"-etcd", "http://127.0.0.1:1", "-backup", backup}, &out, io.Discard), context.Canceled)
	require.NoFileExists(t, backup)
	require.Empty(t, out.String())
}

func TestHelp(t *testing.T) {
	var errOut bytes.Buffer
	require.Equal(t, program.Good, program.Run("ironstate", []string{"-h"}, io.Discard, &errOut, serve))
	require.Contains(t, errOut.String(), "-auth-file")
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out writer
	out.written = cancel
	require.NoError(t, serve(ctx, []string{"-demo", "1"}, &out, io.Discard))
	checkREADME(t, out.String())
	require.Regexp(t, `live, are at http://[0-9.:]+/ in a browser`, out.String())
}

// writer calls written at each write.
type writer struct {
	bytes.Buffer
	written func()
}

func (w *writer) Write(p []byte) (int, error) {
	w.written()
	return w.Buffer.Write(p)
}
