// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

//go:embed python/baremetal.py
var baremetalProgram string

// Baremetal runs commands of the client baremetal. Make it with [Debian.StartBaremetal] and
// Close it. It is not safe for concurrent use.
type Baremetal struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer
}

// Output is the output of a command with its exit status.
type Output struct {
	Status int
	Stdout string
	Stderr string
}

// StartBaremetal loads the client. Its commands use the API at endpoint without
// authentication and the folder dir for files; they end with ctx.
func (d Debian) StartBaremetal(ctx context.Context, endpoint, dir string) (*Baremetal, error) {
	cmd, err := d.python(ctx, baremetalProgram, dir, nil, []string{"OS_AUTH_TYPE=none", "OS_ENDPOINT=" + endpoint})
	if err != nil {
		return nil, err
	}
	b := &Baremetal{cmd: cmd}
	cmd.Stderr = &b.errors
	if b.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("clients: input of baremetal: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("clients: output of baremetal: %w", err)
	}
	b.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("clients: start baremetal: %w", err)
	}
	return b, nil
}

// Run runs one command. The text is the part of the command line after "baremetal", on
// any number of lines, quoted as in a shell. An error means that the command did not
// run; the command's own errors are in the output.
func (b *Baremetal) Run(command string) (Output, error) {
	line, err := json.Marshal(command)
	if err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal: %w", err)
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	answer, err := b.out.ReadBytes('\n')
	if err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	var output Output
	if err := json.Unmarshal(answer, &output); err != nil {
		return Output{}, fmt.Errorf("clients: run baremetal %s: %w", command, err)
	}
	return output, nil
}

// Close ends the client. Call it once, after the last Run has returned.
func (b *Baremetal) Close() error {
	closed := b.in.Close()
	if err := b.cmd.Wait(); err != nil {
		return failed(err, "end of baremetal", b.errors.Bytes())
	}
	return closed
}

// nowhere is an endpoint on which no server listens.
const nowhere = "http://127.0.0.1:9"

func startBaremetal(ctx context.Context, t *testing.T, endpoint string) *Baremetal {
	needs.Time(t)
	baremetal, err := Debian{}.StartBaremetal(ctx, endpoint, t.TempDir())
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
		want := Output{Status: program.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
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
	_, err := Debian{}.StartBaremetal(t.Context(), nowhere, "")
	require.ErrorIs(t, err, ErrNotInstalled)
	require.ErrorContains(t, err, "python3-ironicclient")
	_, err = Debian{}.SDK(t.Context(), nowhere, "test_baremetal_driver")
	require.ErrorIs(t, err, ErrNotInstalled)
	_, err = Gophercloud(t.Context(), nowhere)
	require.ErrorIs(t, err, exec.ErrNotFound)
}

func TestTheResultOfAFailedTestHasTheReason(t *testing.T) {
	needs.Time(t)
	results, err := Debian{}.SDK(t.Context(), nowhere, "test_baremetal_driver")
	installed(t, err)
	require.NoError(t, err)
	others, err := Gophercloud(t.Context(), nowhere)
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
