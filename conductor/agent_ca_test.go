// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCertificateOfAnAgentIsVerifiedByTheFirstOfThree(t *testing.T) {
	read := func(path string) ([]byte, error) {
		switch path {
		case "/ca.pem":
			return []byte("of the file"), nil
		case "/empty.pem":
			return nil, nil
		case "/cut.pem":
			return []byte("a part of"), os.ErrDeadlineExceeded
		}
		return nil, os.ErrNotExist
	}
	for _, c := range []struct {
		heartbeat         string
		driver            any
		configured        string
		pem               string
		unverified, fails bool
	}{
		{"", nil, "", "", false, false},
		{"", nil, "true", "", false, false},
		{"", nil, "False", "", true, false},
		{"", nil, "/ca.pem", "of the file", false, false},
		{"", nil, "/none.pem", "", false, true},
		{"", true, "false", "", false, false},
		{"", false, "true", "", true, false},
		{"", "no", "/ca.pem", "", true, false},
		{"", "/ca.pem", "false", "of the file", false, false},
		{"", "/none.pem", "true", "", false, true},
		{"", "/empty.pem", "true", "", false, true},
		{"", "/cut.pem", "true", "", false, true},
		{"", "", "true", "", false, true},
		{"", 7, "true", "", false, true},
		{"of the heartbeat", false, "false", "of the heartbeat", false, false},
		{"of the heartbeat", "/none.pem", "/none.pem", "of the heartbeat", false, false},
		{"", false, "true", "", true, false},
	} {
		n := &Node{DriverInfo: map[string]any{"agent_verify_ca": c.driver}, Agent: AgentInfo{VerifyCA: c.heartbeat}}
		pem, unverified, err := agentCA(n, c.configured, read)
		require.Equal(t, c.fails, err != nil, c)
		require.Equal(t, c.pem, pem, c)
		require.Equal(t, c.unverified, unverified, c)
		if err != nil {
			require.ErrorIs(t, err, Invalid)
			require.ErrorContains(t, err, "is neither a path nor a boolean")
		}
	}
}

// SECURITY.md: A file that `redfish_verify_ca` or `agent_verify_ca` names is read if it is a regular file of 1 byte to
// 1 MiB.
func TestOnlyAFileIsReadForCertificates(t *testing.T) {
	file := t.TempDir() + "/ca.pem"
	require.NoError(t, os.WriteFile(file, []byte("certificates"), 0o600))
	content, err := readCA(file)
	require.NoError(t, err)
	require.Equal(t, "certificates", string(content))
	require.NoError(t, os.Truncate(file, maxCA))
	content, err = readCA(file)
	require.NoError(t, err)
	require.Len(t, content, maxCA)
	require.NoError(t, os.Truncate(file, maxCA+1))
	fifo := t.TempDir() + "/fifo"
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{file, "/dev/zero", fifo, "/proc/self/pagemap", "/proc/kmsg", t.TempDir(), file + ".none"} {
		n := &Node{DriverInfo: map[string]any{"agent_verify_ca": path}}
		_, _, err := agentCA(n, "", readCA)
		require.ErrorIs(t, err, Invalid, path)
	}
}
