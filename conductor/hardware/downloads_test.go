// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// SECURITY.md: A download that fails, is cancelled or panics leaves no file, and the files of a killed process are
// removed at the next start.
func TestAnImageThatCannotBeBuiltLeavesNoFile(t *testing.T) {
	server := startRedfish(t)
	config, folder, files := serveImages(t)
	for name, ramdisk := range map[string]string{"gone": "http://127.0.0.1:1/ramdisk", "refused": "http://169.254.169.254/ramdisk"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, config)
			n := s.request(s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{
				"deploy_kernel": files + "ipa.kernel", "deploy_ramdisk": ramdisk, "bootloader": files + "esp.img",
			}, nil)), "active")
			require.Equal(t, states.DeployFail, n.ProvisionState)
			require.Contains(t, n.LastError, "provide the image to boot: download from ")
			for _, name := range []string{"unfinished", "published"} {
				left, err := os.ReadDir(filepath.Join(folder, name))
				require.NoError(t, err)
				require.Empty(t, left, name)
			}
		})
	}
}

func TestAHardwareTypeHasAClientForDownloadsOfItsOwn(t *testing.T) {
	l := startLab(t, states.Available, "direct")
	b := newRedfish(t, hardware.Config{})
	_, err := b.PrepareImage(t.Context(), l.n)
	require.ErrorContains(t, err, "127.0.0.1 is in 127.0.0.0/8, from which nothing is downloaded")
	b = newRedfish(t, hardware.Config{Client: http.DefaultClient})
	_, err = b.PrepareImage(t.Context(), l.n)
	require.NoError(t, err)
}
