// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/ironstate/ironstate/internal/program"
)

// Opening a named pipe waits for a writer, and a signal does not end the wait.
func TestANamedPipeWithoutAWriterIsAnEmptyFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := parse([]string{"-auth-file", pipe}, io.Discard)
	require.EqualError(t, err, "-auth-file "+pipe+": the file has no users")
	_, err = (&serverFlags{tlsCert: pipe, tlsKey: pipe}).tlsConfig(slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "-tls-cert and -tls-key: tls: failed to find any PEM data")
	_, err = (&etcdFlags{ca: pipe}).config(slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "has no certificate in PEM")
}

// The conductor reads the file of -agent-verify-ca again for each agent.
func TestTheCertificatesOfAgentsAreNotInAPipe(t *testing.T) {
	certificate, _, _ := newCertificate(t)
	text, err := os.ReadFile(certificate)
	require.NoError(t, err)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	_, err = writer.Write(text)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = parse([]string{"-agent-verify-ca", fmt.Sprintf("/dev/fd/%d", reader.Fd())}, io.Discard)
	require.ErrorIs(t, err, program.ErrUsage)
	require.ErrorContains(t, err, "-agent-verify-ca is ")
}

func TestAFileIsReadFromThePipeOfAShell(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	require.NoError(t, err)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	_, err = fmt.Fprintf(writer, "admin:%s\n", hash)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	o, err := parse([]string{"-auth-file", fmt.Sprintf("/dev/fd/%d", reader.Fd())}, io.Discard) // as -auth-file <(command)
	require.NoError(t, err)
	require.Equal(t, hash, o.users["admin"])
}
