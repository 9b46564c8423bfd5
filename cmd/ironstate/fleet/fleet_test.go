// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/states"
)

// service is an Ironic in this process that supports Redfish, with a client of its API.
type service struct {
	*conductortest.Server
	*testing.T
}

func newService(t *testing.T) *service {
	t.Helper()
	client, err := images.NewClient("127.0.0.1")
	require.NoError(t, err)
	redfish, err := hardware.NewRedfish(hardware.Config{Client: client})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, redfish.Close(context.Background())) })
	return &service{conductortest.New(t, conductortest.Config{Hardware: map[string]conductor.Hardware{"redfish": redfish}}), t}
}

// send sends a request until the node is not locked by a heartbeat.
func (s *service) send(method, path string, body any) (answer map[string]any) {
	s.Helper()
	text, err := json.Marshal(body)
	require.NoError(s, err)
	for {
		r, err := http.NewRequestWithContext(s.Context(), method, s.URL+"/v1/"+path, bytes.NewReader(text))
		require.NoError(s, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
		response, err := http.DefaultClient.Do(r)
		require.NoError(s, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(s, err)
		require.NoError(s, response.Body.Close())
		if response.StatusCode == http.StatusConflict {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		require.Less(s, response.StatusCode, 300, "%s %s: %s", method, path, content)
		_ = json.Unmarshal(content, &answer) // some answers are empty
		return answer
	}
}

func (s *service) provision(node, target string) {
	s.Helper()
	s.send(http.MethodPut, "nodes/"+node+"/states/provision", map[string]any{"target": target})
}

// create creates the nodes of a file as the command "baremetal create" does.
func (s *service) create(file string) {
	s.Helper()
	content, err := os.ReadFile(file)
	require.NoError(s, err)
	var resources struct {
		Nodes []map[string]any `json:"nodes"`
	}
	require.NoError(s, json.Unmarshal(content, &resources))
	for _, n := range resources.Nodes {
		ports := n["ports"].([]any)
		delete(n, "ports")
		uuid := s.send(http.MethodPost, "nodes", n)["uuid"]
		for _, p := range ports {
			port := p.(map[string]any)
			port["node_uuid"] = uuid
			s.send(http.MethodPost, "ports", port)
		}
	}
}

// serveImage serves an image, and returns the instance_info with which it is installed.
func serveImage(t *testing.T, image []byte) map[string]any {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(image) }))
	t.Cleanup(server.Close)
	return map[string]any{
		"image_source": server.URL + "/x.raw", "image_disk_format": "raw",
		"image_os_hash_algo": "sha256", "image_os_hash_value": fmt.Sprintf("%x", sha256.Sum256(image)),
	}
}

func TestOurServiceInstallsAFleet(t *testing.T) {
	s := newService(t)
	f := begin(t, "-machines", "3", "-profile", "lenovo", "-profile", "dell", "-profile", "supermicro",
		"-api", s.URL, "-heartbeat", "50ms", "-disk-size", "80M")
	s.create(f.folder.file(nodesFile))
	image := agenttest.Image(3<<20, 7)
	info := serveImage(t, image)
	for _, step := range []struct {
		target string
		ends   states.State
	}{{"manage", states.Manageable}, {"provide", states.Available}, {"active", states.Active}} {
		for _, m := range f.machines {
			if step.target == "active" {
				s.send(http.MethodPatch, "nodes/"+m.name, []any{map[string]any{"op": "add", "path": "/instance_info", "value": info}})
			}
			s.provision(m.name, step.target)
		}
		for _, m := range f.machines {
			s.WaitFor(t.Context(), m.name, step.ends)
		}
	}
	for i, m := range f.machines {
		disk, err := os.ReadFile(m.host.Disk)
		require.NoError(t, err)
		require.Equal(t, image[512:], disk[512:len(image)])
		require.Equal(t, f.profiles[i].Name, m.family)
		for m.state() != runsDisk {
			time.Sleep(time.Millisecond)
		}
		r := m.row()
		require.Equal(t, int64(2), r.Media, "for cleaning and for the deployment")
		require.Equal(t, int64(2), r.AgentBoots)
		require.Equal(t, int64(1), r.DiskBoots)
		require.Equal(t, int64(3), r.Written)
		require.Positive(t, r.PowerOns)
		require.Positive(t, r.PowerOffs)
	}
	metrics := get(t, f.url+"/metrics")
	for _, line := range []string{
		`fleet_machines{state="disk"} 3`, `fleet_machines{state="off"} 0`, `fleet_boots_total{agent="true"} 6`, `fleet_images_inserted_total 6`,
		"fleet_written_bytes_total " + strconv.FormatFloat(3*3<<20, 'g', -1, 64),
	} {
		require.Contains(t, metrics, line+"\n")
	}
	page := get(t, f.url+"/")
	require.Contains(t, page, "<td>fleet-0003<td>supermicro<td>"+f.machines[2].bmc.Addr)
	require.NotContains(t, page+metrics, f.password.Reveal())
}

// metal3's operator inspects hosts by their agents.
func TestAgentsThatKnowTheAPISendInspectionData(t *testing.T) {
	asked := make(chan string, 100)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		select {
		case asked <- r.URL.Path:
		default:
		}
	}))
	t.Cleanup(api.Close)
	f := begin(t, "-machines", "1", "-api", api.URL, "-heartbeat", "50ms", "-disk-size", "80M")
	f.machines[0].power(true, "Pxe", "")
	require.Equal(t, "/v1/continue_inspection", <-asked)
	require.Equal(t, "/", <-asked, "a refusal does not stop the agent")
	require.Equal(t, "/v1/lookup", <-asked)
}

func TestAFaultOfAnAgentFailsTheWork(t *testing.T) {
	s := newService(t)
	f := begin(t, "-machines", "1", "-profile", "plain", "-api", s.URL, "-heartbeat", "50ms", "-faults", "clean-fails=1,heartbeat-lost=0.5")
	s.create(f.folder.file(nodesFile))
	s.provision("fleet-0001", "manage")
	s.WaitFor(t.Context(), "fleet-0001", states.Manageable)
	s.provision("fleet-0001", "provide")
	require.Contains(t, s.WaitFor(t.Context(), "fleet-0001", states.CleanFail).LastError, "the disk cannot be erased")
	require.Contains(t, get(t, f.url+"/metrics"), `fleet_faults_total{fault="clean-fails"} 1`+"\n")
	require.Contains(t, get(t, f.url+"/"), "clean-fails=1")
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url) //nolint:noctx // it is answered at once
	require.NoError(t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	return string(content)
}

func TestIronicsClientCreatesTheNodes(t *testing.T) {
	needs.Programs(t, "baremetal")
	s := newService(t)
	f := begin(t, "-machines", "2", "-name", "rack1")
	command := exec.CommandContext(t.Context(), "baremetal", "create", f.folder.file(nodesFile))
	command.Env = append(os.Environ(), "OS_AUTH_TYPE=none", "OS_ENDPOINT="+s.URL)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, m := range f.machines {
		n := s.Node(m.name)
		require.Equal(t, "https://"+m.bmc.Addr, n.DriverInfo["redfish_address"])
		require.NotContains(t, n.DriverInfo, "deploy_iso", "Ironic has a kernel and a ramdisk")
		require.Equal(t, "redfish-virtual-media", n.Interfaces["boot"])
		s.provision(m.name, "manage")
		s.WaitFor(t.Context(), m.name, states.Manageable)
	}
	ports, err := json.Marshal(s.send(http.MethodGet, "ports", nil))
	require.NoError(t, err)
	require.Contains(t, string(ports), f.machines[1].mac)
}

func TestAnotherStartHasTheSameAddressesDisksAndSecrets(t *testing.T) {
	for port := 19_000; !startsTwice(t, port); port += 2 {
	}
}

// startsTwice starts a fleet on a port and the one above twice. It returns false if another program has one of them.
func startsTwice(t *testing.T, port int) bool {
	folder := filepath.Join(t.TempDir(), "f")
	var before map[string]string
	for range 2 {
		o, err := parse([]string{"-machines", "1", "-folder", folder, "-base-port", strconv.Itoa(port)}, io.Discard)
		require.NoError(t, err)
		f, err := start(t.Context(), o)
		if errors.Is(err, syscall.EADDRINUSE) {
			return false
		}
		require.NoError(t, err)
		require.Equal(t, "http://127.0.0.1:"+strconv.Itoa(port), f.url)
		require.Equal(t, port+1, f.machines[0].bmc.Port)
		after := map[string]string{}
		for _, name := range []string{caFile, caKeyFile, passwordFile, machinesFile, nodesFile, hostsFile} {
			content, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			info, err := os.Stat(filepath.Join(folder, name))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode(), name)
			after[name] = string(content)
		}
		if before == nil {
			require.NoError(t, os.WriteFile(f.machines[0].host.Disk, []byte("content"), 0o600))
			before = after
		}
		require.Equal(t, before, after)
		require.NoError(t, f.close())
	}
	disk, err := os.ReadFile(filepath.Join(folder, disksFolder, "fleet-0001.raw"))
	require.NoError(t, err)
	require.Equal(t, "content", string(disk))
	return true
}

func TestACommandThatIsStoppedWhileItStartsEndsWithoutAnError(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	folder := filepath.Join(t.TempDir(), "f")
	var out bytes.Buffer
	require.NoError(t, Run(ctx, []string{"-folder", folder}, &out, io.Discard))
	require.Empty(t, out.String())
	require.DirExists(t, folder, "it had begun")
}

func TestTheCommandPrintsWhatToTypeAndRemovesItsFolder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- program.Run("ironstate", []string{"-api", "http://127.0.0.1:1"}, writer, &errOut,
			func(_ context.Context, args []string, out, errOut io.Writer) error {
				return Run(ctx, args, out, errOut)
			})
		writer.Close()
	}()
	var printed bytes.Buffer
	for !strings.Contains(printed.String(), "Ctrl-C") {
		_, err := io.CopyN(&printed, reader, 1)
		require.NoError(t, err)
	}
	text := printed.String()
	require.True(t, strings.HasPrefix(text, "listening on http://127.0.0.1:"), text)
	_, file, _ := strings.Cut(text, "baremetal create ")
	file, _, _ = strings.Cut(file, "\n")
	require.FileExists(t, file)
	require.Contains(t, text, "-agent-network 127.0.0.0/8")
	cancel()
	_, _ = io.Copy(io.Discard, reader)
	require.Equal(t, program.Good, <-ended, errOut.String())
	require.NoDirExists(t, filepath.Dir(file))
}
