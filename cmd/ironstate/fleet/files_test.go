// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert/yaml"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

func TestTheFilesHaveTheMachines(t *testing.T) {
	t.Setenv(passwordVariable, `quote " and # and \`)
	f := begin(t, "-machines", "2", "-profile", "gigabyte", "-verify-ca", "false", "-user", "root", "-api", "http://127.0.0.1:1")
	content, err := os.ReadFile(f.folder.file(machinesFile))
	require.NoError(t, err)
	var all []entry
	require.NoError(t, json.Unmarshal(content, &all))
	require.Equal(t, f.entries(), all)
	require.Equal(t, "/redfish/v1/Systems/Self", all[1].SystemID)

	content, err = os.ReadFile(f.folder.file(nodesFile))
	require.NoError(t, err)
	var nodes map[string][]map[string]any
	require.NoError(t, json.Unmarshal(content, &nodes))
	info := nodes["nodes"][1]["driver_info"].(map[string]any)
	require.Equal(t, map[string]any{
		"redfish_address": all[1].Address, "redfish_system_id": all[1].SystemID, "redfish_username": "root",
		"redfish_password": `quote " and # and \`, "redfish_verify_ca": false, "deploy_iso": f.url + "/agent.iso",
	}, info)

	content, err = os.ReadFile(f.folder.file(hostsFile))
	require.NoError(t, err)
	documents := strings.Split(string(content), "---\n")[1:]
	require.Len(t, documents, 4)
	var secret, host map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(documents[2]), &secret))
	require.NoError(t, yaml.Unmarshal([]byte(documents[3]), &host))
	require.Equal(t, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "fleet-0002-bmc"}, "type": "Opaque",
		"stringData": map[string]any{"username": "root", "password": `quote " and # and \`},
	}, secret)
	require.Equal(t, map[string]any{
		"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
		"metadata": map[string]any{"name": "fleet-0002", "labels": map[string]any{"profile": "gigabyte"}},
		"spec": map[string]any{"online": true, "bootMACAddress": all[1].MAC, "bmc": map[string]any{
			"address":         "redfish-virtualmedia+" + all[1].Address + all[1].SystemID,
			"credentialsName": "fleet-0002-bmc", "disableCertificateVerification": true,
		}},
	}, host)
}

func TestFleetsOfOtherNamesHaveOtherAddresses(t *testing.T) {
	require.NotEqual(t, macOf("a", 1), macOf("b", 1))
	require.Equal(t, "02:", macOf("a", 70000)[:3])
	require.Equal(t, ":01:11:70", macOf("a", 70000)[8:])
}

// build returns the path of an image with kernel parameters.
func build(t *testing.T, i bootimage.Image) string {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	require.NoError(t, os.WriteFile(none, bytes.Repeat([]byte("linux none\n"), 400), 0o600))
	i.Kernel, i.Ramdisk = none, none
	if i.ESP == "" {
		i.Isolinux = none
	} else {
		i.ESP = none
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "boot.iso"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, i.Write(file, t.TempDir()))
	return file.Name()
}

func TestAMachineBootsWhatItsImageSays(t *testing.T) {
	agent := []string{"nofb", "ipa-api-url=http://192.0.2.1:6385", "ipa-agent-token=abc", "boot_method=vmedia"}
	files := map[string]string{
		"/uefi.iso":  build(t, bootimage.Image{ESP: "x", Parameters: agent, NetworkData: []byte("{}")}),
		"/other.iso": build(t, bootimage.Image{ESP: "x", GRUBConfig: "boot/grub/grub.cfg", Parameters: agent}),
		"/bios.iso":  build(t, bootimage.Image{Parameters: agent}),
		"/live.iso":  build(t, bootimage.Image{ESP: "x", Parameters: []string{"root=/dev/sda1"}}),
	}
	empty := filepath.Join(t.TempDir(), "empty.iso")
	require.NoError(t, os.WriteFile(empty, make([]byte, 100<<10), 0o600))
	files["/empty.iso"] = empty
	ranges := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ranges {
			r.Header.Del("Range")
		}
		if files[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, files[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	all := strings.Join(agent, " ")
	for _, ranges = range []bool{true, false} {
		for _, test := range []struct {
			source, image, api, parameters string
			agent                          bool
		}{
			{"Cd", "/uefi.iso", "", all, true},
			{"Usb", "/other.iso", "", all, true},
			{"Cd", "/bios.iso", "http://x", "initrd=/initrd " + all, true},
			{"Cd", "/live.iso", "http://x", "", false},
			{"Cd", "/empty.iso", "", "", false},
			{"Cd", "/empty.iso", "http://x", "", true},
			{"Cd", "/none.iso", "", "", false},
			{"Cd", "/none.iso", "http://x", "", true},
			{"Cd", "", "http://x", "", false},
			{"Pxe", "", "http://x", "", true},
			{"UefiHttp", "", "", "", false},
			{"Hdd", "", "http://x", "", false},
			{"None", "/uefi.iso", "http://x", "", false},
		} {
			b := &booter{client: server.Client(), api: test.api}
			if test.image != "" {
				test.image = server.URL + test.image
			}
			parameters, starts := b.boot(context.Background(), test.source, test.image)
			require.Equal(t, test.parameters, parameters, "%v", test)
			require.Equal(t, test.agent, starts, "%v", test)
		}
	}
}

func FuzzABrokenImageIsAnError(f *testing.F) {
	f.Add([]byte{34, 0, 19, 0, 0, 0}, uint8(200))
	f.Fuzz(func(t *testing.T, folder []byte, flags uint8) {
		image := make([]byte, 22*isoSector)
		copy(image[isoVolume:], "\x01CD001")
		root := image[isoVolume+isoRoot:]
		root[0], root[2], root[11], root[25] = 34, 20, isoSector>>8, flags
		copy(image[20*isoSector:], folder)
		_, _ = kernelParameters(strings.NewReader(string(image)))
	})
}
