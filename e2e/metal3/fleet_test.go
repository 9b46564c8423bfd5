// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

// TestTheHostsOfAFleet takes a machine of each family of "ironstate fleet" from its manifests to an installed image and
// back.
func TestTheHostsOfAFleet(t *testing.T) {
	needs.Time(t)
	url := serveAPI(t, conductor.Config{}, &front{})
	folder := runFleet(t, "-api", url, "-profile", "all", "-machines", "9", "-heartbeat", "200ms")
	var nodes struct {
		Nodes []struct {
			DriverInfo struct {
				ISO string `json:"deploy_iso"`
			} `json:"driver_info"`
		}
	}
	var machines []struct{ Name, Profile, MAC, Disk string }
	readJSON(t, filepath.Join(folder, "nodes.json"), &nodes)
	readJSON(t, filepath.Join(folder, "machines.json"), &machines)
	hosts := manifests(t, filepath.Join(folder, "hosts.yaml"))
	require.Len(t, hosts, len(machines))

	image := agenttest.Image(4<<20, 7)
	for i, m := range machines {
		s := &site{T: t, url: url, mac: m.MAC, host: hosts[i], cleaning: metal3api.CleaningModeDisabled}
		s.operate(nodes.Nodes[i].DriverInfo.ISO) // sets the environment, and so comes before the parallel test
		t.Run(m.Profile, func(t *testing.T) {
			t.Parallel()
			s.T = t
			require.Empty(t, s.register(false))
			details, message := s.inspect(false)
			require.Empty(t, message)
			require.Equal(t, m.MAC, details.NIC[0].MAC)
			require.Empty(t, s.prepare(provisioner.PrepareData{}, false))
			require.Empty(t, s.rawImage(image))
			s.requireState(states.Active)
			disk, err := os.Open(m.Disk)
			require.NoError(t, err)
			defer disk.Close()
			written := make([]byte, len(image))
			_, err = io.ReadFull(disk, written)
			require.NoError(t, err)
			require.True(t, bytes.Equal(image[1<<20:], written[1<<20:]), "the image is on the disk")
			require.Empty(t, s.removeInstance(false))
			s.requireState(states.Available)
			require.Empty(t, s.delete())
		})
	}
}

// runFleet runs "ironstate fleet" until the end of the test, and returns its folder.
func runFleet(t *testing.T, args ...string) (folder string) {
	t.Helper()
	folder, program := filepath.Join(t.TempDir(), "fleet"), filepath.Join(t.TempDir(), "ironstate")
	output, err := exec.CommandContext(t.Context(), "go", "-C", "../../cmd/ironstate", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", output)
	command := exec.Command(program, append([]string{"fleet", "-folder", folder}, args...)...)
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Signal(syscall.SIGTERM))
		require.NoError(t, command.Wait(), "%s", &errOut)
	})
	lines := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "Ctrl-C"); {
		line, err = lines.ReadString('\n')
		require.NoError(t, err, "%s", &errOut)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return folder
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, into))
}

// manifests returns what the operator knows of the hosts in a file of secrets and hosts, in their order.
func manifests(t *testing.T, file string) (hosts []provisioner.HostData) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	credentials := map[string]bmc.Credentials{}
	for document := range strings.SplitSeq(strings.TrimPrefix(string(content), "---\n"), "\n---\n") {
		var host metal3api.BareMetalHost
		var secret struct {
			metal3api.BareMetalHost                   // its metadata
			StringData              map[string]string `json:"stringData"`
			Type                    string            `json:"type"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &host))
		if host.Kind == "Secret" {
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &secret))
			credentials[host.Name] = bmc.Credentials{Username: secret.StringData["username"], Password: secret.StringData["password"]}
			continue
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &host))
		require.Contains(t, credentials, host.Spec.BMC.CredentialsName)
		host.Namespace, host.UID = "metal3", types.UID("8b6d7cf5-14b5-4fcb-a8a8-"+strings.ReplaceAll(host.Spec.BootMACAddress, ":", ""))
		hosts = append(hosts, provisioner.BuildHostData(host, credentials[host.Spec.BMC.CredentialsName]))
	}
	return hosts
}
