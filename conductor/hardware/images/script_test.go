// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/hardware/images"
)

func TestAMachineReceivesTheScriptOfItsInterface(t *testing.T) {
	var url string
	s, folder := start(t, func(c *images.Config) { url = c.URL })
	boot := func() (string, error) {
		defer http.DefaultClient.CloseIdleConnections()
		return agenttest.BootIPXE(t.Context(), http.DefaultClient, url+"boot.ipxe", []string{"52:54:00:00:00:01", "52:54:00:00:00:0A"})
	}
	_, err := boot()
	require.ErrorContains(t, err, "the script has ended with status 1")
	kernel, err := s.Publish(node, ".kernel", text("kernel"))
	require.NoError(t, err)
	ramdisk, err := s.Publish(node, ".ramdisk", text("ramdisk"))
	require.NoError(t, err)
	script := func(parameter string) string {
		return "#!ipxe\nkernel " + kernel + " initrd=r " + parameter + "\ninitrd --name r " + ramdisk + "\nboot\n"
	}

	require.NoError(t, s.PublishScripts(node, map[string]string{"52:54:00:00:00:0A": script("a=1"), "52:54:00:00:00:0b": script("b=1")}))
	parameters, err := boot()
	require.NoError(t, err)
	require.Equal(t, "a=1", parameters)
	status, _ := get(t, url+"52-54-00-00-00-0b.ipxe", "")
	require.Equal(t, http.StatusOK, status)

	require.NoError(t, s.PublishScripts(other, map[string]string{"52:54:00:00:00:0a": script("a=2")}))
	parameters, err = boot()
	require.NoError(t, err)
	require.Equal(t, "a=2", parameters, "an address has one script")
	require.NoError(t, s.PublishScripts(other, map[string]string{"52:54:00:00:00:0c": script("a=3")}))
	_, err = boot()
	require.Error(t, err, "a node's earlier scripts are removed")

	again, err := images.New(images.Config{Folder: folder, URL: url})
	require.NoError(t, err)
	defer again.Close()
	status, _ = get(t, url+"52-54-00-00-00-0c.ipxe", "")
	require.Equal(t, http.StatusOK, status, "a restart keeps it")
	require.NoError(t, s.Withdraw(other, ""))
	status, _ = get(t, url+"52-54-00-00-00-0c.ipxe", "")
	require.Equal(t, http.StatusNotFound, status)
}

// SECURITY.md: With `-agent-network` scripts, kernels, ramdisks and the images of instances are served to addresses
// from there only.
func TestOnlyMachinesReceiveWhatAScriptNames(t *testing.T) {
	var base string
	machine := netip.MustParseAddr("192.0.2.7")
	s, _ := start(t, func(c *images.Config) {
		base, c.Machines = c.URL, func(a netip.Addr) bool { return a.Unmap() == machine }
	})
	require.NoError(t, s.PublishScripts(node, map[string]string{"52:54:00:00:00:01": "#!ipxe\n"}))
	const refused = http.StatusForbidden
	locations := map[string]int{
		base + "52-54-00-00-00-01.ipxe": refused,
		base + "52-54-00-00-00-02.ipxe": refused,
		base + "boot.ipxe":              refused,
	}
	for suffix, status := range map[string]int{".kernel": refused, ".ramdisk": refused, ".img": refused, ".iso": http.StatusOK} {
		location, err := s.Publish(node, suffix, text("content"))
		require.NoError(t, err)
		locations[location] = status
	}
	for location, status := range locations {
		permitted := http.StatusOK
		if strings.HasSuffix(location, "-02.ipxe") {
			permitted = http.StatusNotFound
		}
		for from, want := range map[string]int{
			"198.51.100.1:7": status, "192.0.2.7:7": permitted, "[::ffff:192.0.2.7]:7": permitted, "": status,
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
			r.RemoteAddr = from
			answer := httptest.NewRecorder()
			s.ServeHTTP(answer, r)
			require.Equal(t, want, answer.Code, "%s from %q", location, from)
		}
	}
}

func TestOnlyScriptsOfAddressesArePublished(t *testing.T) {
	s, _ := start(t)
	for _, mac := range []string{"", "52:54:00:00:00", "../etc", "52:54:00:00:00:01:02:03", "52:54:00:00:00:0g"} {
		require.Error(t, s.PublishScripts(node, map[string]string{mac: "#!ipxe\n"}), mac)
	}
	require.Error(t, s.PublishScripts("../x", map[string]string{"52:54:00:00:00:01": "#!ipxe\n"}))
}

func TestScriptsThatAreNotPublishedAreNotFound(t *testing.T) {
	var url string
	s, _ := start(t, func(c *images.Config) { url = c.URL })
	require.NoError(t, s.PublishScripts(node, map[string]string{"52:54:00:00:00:01": "#!ipxe\n"}))
	for _, name := range []string{
		"52-54-00-00-00-02.ipxe", "52:54:00:00:00:01.ipxe", node + "-52-54-00-00-00-01.ipxe", "??-54-00-00-00-01.ipxe", "*.ipxe",
		"52-54-00-00-00-01.ipxe/", "boot.ipxe/",
	} {
		status, _ := get(t, url+name, "")
		require.Equal(t, http.StatusNotFound, status, name)
	}
	answer, err := http.Post(url+"boot.ipxe", "", nil)
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)
}
