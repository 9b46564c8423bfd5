// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheReadiness(t *testing.T) {
	for _, member := range []bool{false, true} {
		for _, store := range []Readiness{Ready, NoMajority, DiskFull, Stopping} {
			want := store
			if store == Ready && !member {
				want = NoMember
			}
			got := ReadinessOf(store, member)
			require.Equal(t, want, got)
			require.Equal(t, got == Ready, got.Trouble() == "")
		}
	}
}

func TestTheProbesAnswerWithAWordAndPassOtherRequestsOn(t *testing.T) {
	word := Ready
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := httptest.NewServer(Probes(func() Readiness { return word }, api))
	defer server.Close()
	ask := func(method, path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, w := range []Readiness{Ready, Starting, NoMajority, DiskFull, NoMember, Stopping} {
		word = w
		status, text := ask("GET", "/readyz")
		require.Equal(t, w == Ready, status == http.StatusOK)
		require.Equal(t, w != Ready, status == http.StatusServiceUnavailable)
		require.Equal(t, string(w)+"\n", text)
		status, text = ask("GET", "/healthz")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "ok\n", text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		status, _ := ask("POST", path)
		require.Equal(t, http.StatusMethodNotAllowed, status)
		status, _ = ask("GET", path+"/x")
		require.Equal(t, http.StatusTeapot, status)
	}
	status, _ := ask("GET", "/v1/nodes")
	require.Equal(t, http.StatusTeapot, status)
}

func TestOnlyReadsWithoutAMajorityHaveAWarning(t *testing.T) {
	for _, word := range []Readiness{Ready, Starting, NoMajority, DiskFull, NoMember, Stopping} {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH"} {
			answer := httptest.NewRecorder()
			around := Warned(func() Readiness { return word }, "etcd", http.NotFoundHandler())
			around.ServeHTTP(answer, httptest.NewRequest(method, "/v1/nodes", nil))
			want := word == NoMajority && (method == "GET" || method == "HEAD")
			require.Equal(t, want, strings.HasPrefix(answer.Header().Get("Warning"), `110 ironstate "etcd has no majority`), "%s %s", word, method)
			require.Equal(t, http.StatusNotFound, answer.Code)
		}
	}
}
