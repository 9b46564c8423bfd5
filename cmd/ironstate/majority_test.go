// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/program/programtest"
)

// probe returns the status and the word of a probe, which needs no password.
func (s *server) probe(path string) (int, string) {
	s.t.Helper()
	answer, err := s.client.Get(s.url + path)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	word, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return answer.StatusCode, strings.TrimSpace(string(word))
}

// isReady waits until /readyz has a status and a word.
func (s *server) isReady(status int, word string) {
	s.t.Helper()
	for {
		if gotStatus, gotWord := s.probe("/readyz"); gotStatus == status && gotWord == word {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// SECURITY.md: Without a majority of etcd's servers, writes and reads of single objects are refused with the reason,
// and lists have a warning.
func TestALostMajorityIsKnownRefusesWritesAndIsSaidUntilItIsBack(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	names := []string{"alpha", "beta", "gamma"}
	peers, all, folders := cluster(t, names...), map[string]*server{}, t.TempDir()
	start := func(name string) *server {
		return launch(t, programtest.Command("-cluster", peers, "-name", name, "-data", filepath.Join(folders, name),
			"-lease", "6s", "-log-level", "INFO"))
	}
	for _, name := range names {
		all[name] = start(name) // the first waits for another
	}
	for _, s := range all {
		s.ready()
	}
	alpha := all["alpha"]
	status, answer := alpha.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
	require.Equal(t, http.StatusCreated, status, "%v", answer)
	alpha.isReady(http.StatusOK, "ready")
	read := func() string {
		response, err := alpha.client.Get(alpha.url + "/v1/nodes")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		return response.Header.Get("Warning")
	}
	require.Empty(t, read())

	all["beta"].kill()
	all["gamma"].kill()
	alpha.isReady(http.StatusServiceUnavailable, "no majority")
	status, word := alpha.probe("/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok", word)
	require.Zero(t, alpha.series("conductor_ready"))
	require.Contains(t, read(), "110 ironstate")
	refused := func() {
		t.Helper()
		for _, request := range [][]string{
			{http.MethodGet, "/v1/nodes/one", ""}, // promises the last write
			{http.MethodPost, "/v1/nodes", `{"name": "two", "driver": "fake-hardware"}`},
			{http.MethodPatch, "/v1/nodes/one", `[{"op": "add", "path": "/extra/a", "value": "b"}]`},
			{http.MethodPut, "/v1/nodes/one/states/provision", `{"target": "manage"}`},
			{http.MethodDelete, "/v1/nodes/one", ""},
		} {
			status, answer := alpha.do(request[0], request[1], request[2])
			require.Equal(t, http.StatusServiceUnavailable, status, "%v", answer)
			require.Contains(t, answer["error_message"], "no majority", "%v", request)
		}
	}
	refused()
	for alpha.series("conductor_members") != 0 {
		time.Sleep(50 * time.Millisecond)
	}
	refused() // also when the membership is lost
	alpha.isReady(http.StatusServiceUnavailable, "no majority")

	all["beta"] = start("beta").ready()
	alpha.isReady(http.StatusOK, "ready")
	require.Equal(t, 1.0, alpha.series("conductor_ready"))
	require.Empty(t, read())
	alpha.provision("one", "manage")
	alpha.waitFor("one", "manageable")
	alpha.kill() // so that errOut is complete
	log := alpha.errOut.String()
	require.Equal(t, 1, strings.Count(log, `level=WARN msg="the majority of etcd's servers is lost`), log)
	require.Equal(t, 1, strings.Count(log, `level=INFO msg="the majority of etcd's servers is back"`), log)
	require.NotContains(t, log, "could not join the others", "it waits for the majority")
	require.NotContains(t, log, "has the name of this conductor", "its own earlier lease does not delay it")
}

// SECURITY.md: A conductor whose name a live one has is refused at the start.
func TestAProcessWithTheNameOfALiveOneIsRefused(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	etcd := startEtcd(t)
	flags := []string{"-etcd", etcd, "-name", "alpha", "-lease", "4s"}
	first := serveProcess(t, flags...)
	var errOut strings.Builder
	require.Equal(t, program.Failed, program.Run("ironstate", flags, io.Discard, &errOut, serve))
	require.Contains(t, errOut.String(), "ironstate: conductor alpha: another conductor with this name is alive: give each its own name")
	first.isReady(http.StatusOK, "ready")

	first.kill()
	again := serveProcess(t, flags...) // the test's time ends if it is refused
	again.isReady(http.StatusOK, "ready")
	status, _ := again.do(http.MethodPost, "/v1/nodes", `{"name": "one", "driver": "fake-hardware"}`)
	require.Equal(t, http.StatusCreated, status)
}
