// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/clients"
	"github.com/ironstate/ironstate/internal/needs"
)

// nowhere is an endpoint on which no server listens.
const nowhere = "http://127.0.0.1:9"

func startBaremetal(ctx context.Context, t *testing.T, endpoint string) *clients.Baremetal {
	needs.Time(t)
	baremetal, err := clients.Debian{}.StartBaremetal(ctx, endpoint, t.TempDir())
	installed(t, err)
	require.NoError(t, err)
	return baremetal
}

func TestACommandHasTheOutputOfTheProgram(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	baremetal := startBaremetal(t.Context(), t, server.URL)
	for _, command := range []string{"--version", "node list", "node create", "no such command", "node show 'a name'"} {
		words := strings.Fields(command)
		if head, quoted, ok := strings.Cut(command, "'"); ok {
			words = append(strings.Fields(head), strings.TrimSuffix(quoted, "'"))
		}
		var stdout, stderr strings.Builder
		program := exec.CommandContext(t.Context(), "baremetal", words...)
		program.Env = append(os.Environ(), "OS_AUTH_TYPE=none", "OS_ENDPOINT="+server.URL, "LANG=C.UTF-8")
		program.Stdout, program.Stderr = &stdout, &stderr
		_ = program.Run() // the status is compared below

		output, err := baremetal.Run(command)
		require.NoError(t, err)
		want := clients.Output{Status: program.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
		require.Equal(t, want, output, command)
	}
	require.NoError(t, baremetal.Close())
}

func TestACommandEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // the end of the client's connection
	}))
	defer server.Close()
	baremetal := startBaremetal(ctx, t, server.URL)
	_, err := baremetal.Run("node list")
	require.Error(t, err)
	require.Error(t, baremetal.Close())
}

func TestAMissingClientIsErrNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := clients.Debian{}.StartBaremetal(t.Context(), nowhere, "")
	require.ErrorIs(t, err, clients.ErrNotInstalled)
	require.ErrorContains(t, err, "python3-ironicclient")
	_, err = clients.Debian{}.SDK(t.Context(), nowhere, "test_baremetal_driver")
	require.ErrorIs(t, err, clients.ErrNotInstalled)
	_, err = clients.Gophercloud(t.Context(), nowhere)
	require.ErrorIs(t, err, exec.ErrNotFound)
}

func TestTheResultOfAFailedTestHasTheReason(t *testing.T) {
	needs.Time(t)
	results, err := clients.Debian{}.SDK(t.Context(), nowhere, "test_baremetal_driver")
	installed(t, err)
	require.NoError(t, err)
	others, err := clients.Gophercloud(t.Context(), nowhere)
	require.NoError(t, err)
	results = append(results, others...)
	require.Len(t, results, 5+20)
	for _, result := range results {
		require.False(t, result.Passed, result.Name)
		require.Contains(t, result.Output, "127.0.0.1:9", result.Name)
	}
}

func TestAnExpectationIsOfTheWholeOutput(t *testing.T) {
	for _, test := range []struct {
		expectation, output string
		met                 bool
	}{
		{"", "\n", true},
		{"", "text\n", false},
		{"one\ntwo\n", "one\ntwo\n", true},
		{"one\n", "one\ntwo\n", false},
		{"two\n", "one\ntwo\n", false},
		{"(o.e)\n", "(one)\n", false},
		{"one ... three\n", "one\ntwo three\n", false},
		{"one...three\n", "one\ntwo three\n", true},
		{"one...\n", "two one\n", false},
	} {
		require.Equal(t, test.met, expectation(test.expectation).MatchString(test.output), "%+v", test)
	}
}
