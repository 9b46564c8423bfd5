// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// SECURITY.md: A file that `redfish_verify_ca` or `agent_verify_ca` names is read if it is a regular file of 1 byte to
// 1 MiB.
func TestAuthoritiesAreReadFromFilesAndFolders(t *testing.T) {
	server := startRedfish(t)
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	file := write("ca/ca.pem", server.CAPEM)
	write("ca/README", []byte("not a certificate"))
	foreign := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Certificate = "foreign CA" })
	fifo := write("fifos/a.pem", nil)
	require.NoError(t, os.Remove(fifo))
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for i := range 9 {
		write(fmt.Sprintf("large/%d.pem", i), append(make([]byte, 1<<20-len(server.CAPEM)), server.CAPEM...))
	}
	for i := range 8 {
		write(fmt.Sprintf("permitted/%d.pem", i), slices.Concat(server.CAPEM, make([]byte, 1<<20-len(server.CAPEM))))
	}
	for i := range 1001 {
		write(fmt.Sprintf("many/%d.pem", i), nil)
	}
	tests := map[string]struct {
		value any
		want  string // part of the error; empty if the BMC is reached
	}{
		"the file":                {file, ""},
		"the folder":              {filepath.Dir(file), ""},
		"nothing verified":        {false, ""},
		"the system's":            {true, "TLS"},
		"no certificate":          {write("text", []byte("correct+horse/1")), "has no certificates in PEM form"},
		"another certificate":     {write("foreign.pem", foreign.CAPEM), "TLS"},
		"a folder without":        {t.TempDir(), "has no file with certificates"},
		"a device":                {os.DevNull, "is not a regular file"},
		"a FIFO":                  {fifo, "is not a regular file"},
		"a folder with a FIFO":    {filepath.Dir(fifo), "has no file with certificates"},
		"a folder of 8 MiB":       {filepath.Join(dir, "permitted"), ""},
		"a folder of 9 MiB":       {filepath.Join(dir, "large"), "are longer than 8 MiB"},
		"a folder of 1001 files":  {filepath.Join(dir, "many"), "has more than 1000 files"},
		"an empty file":           {write("empty", nil), "is empty"},
		"the kernel's log":        {"/proc/kmsg", "is empty or one of the kernel"}, // reading it takes messages away, and blocks
		"a file that is too long": {write("long", append(make([]byte, 1<<20), server.CAPEM...)), "and at most 1048576 are read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			info := redfishInfo(t, server)
			info["redfish_verify_ca"] = test.value
			_, err := newRedfish(t, hardware.Config{}).PowerState(t.Context(), &conductor.Node{UUID: uuid, DriverInfo: info})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "horse")
		})
	}
}
