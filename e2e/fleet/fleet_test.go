// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/e2e/internal/build"
	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/states"
)

var machines = flag.Int("machines", 4, "`number` of machines that a real Ironic installs, half of them with boot images of its own")

// config lets Ironic deploy over virtual media. FILES is the folder of its web server, and SERVER its URL.
const config = `
[DEFAULT]
enabled_hardware_types = redfish,fake-hardware
enabled_bios_interfaces = redfish,no-bios,fake
enabled_boot_interfaces = redfish-virtual-media,fake
enabled_deploy_interfaces = direct,fake
default_deploy_interface = direct
enabled_inspect_interfaces = redfish,no-inspect,fake
enabled_management_interfaces = redfish,fake
enabled_power_interfaces = redfish,fake
enabled_rescue_interfaces = no-rescue,fake
enabled_vendor_interfaces = redfish,no-vendor,fake
[agent]
certificates_path = DIR
[service_catalog]
endpoint_override = http://127.0.0.1:PORT
[conductor]
automated_clean = true
check_provision_state_interval = 60
check_rescue_state_interval = 60
deploy_kernel = SERVER/kernel
deploy_ramdisk = SERVER/ramdisk
bootloader = SERVER/esp.img
workers_pool_size = 100
[redfish]
use_swift = false
[deploy]
http_root = FILES
http_url = SERVER
ramdisk_image_download_source = http
`

// lab is a real Ironic and the web server from which machines boot and install images.
type lab struct {
	*testing.T
	ironic  *lockstep.Ironic
	program string // ironstate
	info    map[string]any
	image   []byte
}

func newLab(t *testing.T, root string) *lab {
	t.Helper()
	l := &lab{T: t, image: agenttest.Image(8<<20, 7), program: filepath.Join(t.TempDir(), "ironstate")}
	require.NoError(t, build.Ironstate(t.Context(), l.program))
	files, err := os.MkdirTemp("/tmp", "fleet-") // which the Debian in the folder sees too
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(files)) })
	require.NoError(t, os.Chmod(files, 0o755))
	for _, name := range []string{"kernel", "ramdisk", "esp.img"} {
		require.NoError(t, os.WriteFile(filepath.Join(files, name), bytes.Repeat([]byte(name), 1000), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(files, "image.raw"), l.image, 0o600))
	server := httptest.NewServer(http.FileServer(http.Dir(files)))
	t.Cleanup(server.Close)
	l.info = map[string]any{
		"image_source": server.URL + "/image.raw", "image_disk_format": "raw", "image_type": "whole-disk",
		"image_os_hash_algo": "sha256", "image_os_hash_value": fmt.Sprintf("%x", sha256.Sum256(l.image)),
	}
	filled := strings.NewReplacer("FILES", files, "SERVER", server.URL).Replace(config)
	l.ironic, err = lockstep.Start(t.Context(), lockstep.Options{Root: root, Config: filled})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.ironic.Close()) })
	return l
}

// fleet runs "ironstate fleet" until the end of the test, and returns what its folder says.
func (l *lab) fleet(args ...string) (folder string, found []entry) {
	l.Helper()
	folder = filepath.Join(l.TempDir(), "fleet")
	command := exec.CommandContext(context.Background(), l.program, append([]string{"fleet", "-folder", folder}, args...)...)
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.StdoutPipe()
	require.NoError(l, err)
	require.NoError(l, command.Start())
	l.Cleanup(func() {
		require.NoError(l, command.Process.Signal(syscall.SIGTERM))
		require.NoError(l, command.Wait(), "%s", &errOut)
		usage := command.ProcessState.SysUsage().(*syscall.Rusage)
		l.Logf("the fleet took %d MB and %v of processor", usage.Maxrss>>10, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	})
	lines := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "Ctrl-C"); {
		line, err = lines.ReadString('\n')
		require.NoError(l, err, "%s", &errOut)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	content, err := os.ReadFile(filepath.Join(folder, "machines.json"))
	require.NoError(l, err)
	require.NoError(l, json.Unmarshal(content, &found))
	return folder, found
}

// entry is the part of a machine in machines.json that the test needs.
type entry struct{ Name, Profile, Disk string }

// create creates the nodes with Ironic's client.
func (l *lab) create(folder string) {
	l.Helper()
	command := exec.CommandContext(l.Context(), "baremetal", "create", filepath.Join(folder, "nodes.json"))
	command.Env = append(os.Environ(), "OS_AUTH_TYPE=none", "OS_ENDPOINT="+l.ironic.Endpoint())
	output, err := command.CombinedOutput()
	require.NoError(l, err, "%s", output)
}

const version = states.APIVersion(82)

// install takes a node from enroll to active and reads the disk of its machine. It returns why that is not possible.
func (l *lab) install(m entry) error {
	client, ctx, name := l.ironic.Client, l.Context(), m.Name
	for _, step := range []struct {
		target string
		ends   states.State
	}{{"manage", states.Manageable}, {"provide", states.Available}, {"active", states.Active}} {
		if step.target == "active" {
			err := l.accepted(func() lockstep.Answer { return client.Patch(ctx, version, name, "/instance_info", l.info) })
			if err != nil {
				return err
			}
		}
		err := l.accepted(func() lockstep.Answer {
			return client.Provision(ctx, version, name, map[string]any{"target": step.target})
		})
		if err != nil {
			return fmt.Errorf("%s: %w", step.target, err)
		}
		for ; ; time.Sleep(time.Second) {
			var n lockstep.Node
			if err := try.Catch(func() { n, _ = client.Show(ctx, version, name) }); err != nil {
				return err
			}
			if n.State == step.ends {
				break
			}
			if n.LastError != "" && n.Reservation == "" {
				return fmt.Errorf("%s: it is in %q: %s", step.target, n.State, n.LastError)
			}
		}
	}
	disk, err := os.Open(m.Disk)
	if err != nil {
		return err
	}
	defer disk.Close()
	content := make([]byte, len(l.image))
	if _, err = io.ReadFull(disk, content); err == nil && !bytes.Equal(l.image[512:], content[512:]) {
		err = errors.New("the disk has another content than the image")
	}
	return err
}

// accepted sends a request until the node is not locked.
func (l *lab) accepted(send func() lockstep.Answer) error {
	for ; ; time.Sleep(200 * time.Millisecond) {
		var answer lockstep.Answer
		err := try.Catch(func() { answer = send() })
		switch {
		case err != nil:
			return err
		case answer.Fault == "":
			return nil
		case answer.Status != http.StatusConflict && answer.Status != http.StatusServiceUnavailable:
			return fmt.Errorf("%d: %s", answer.Status, answer.Fault)
		}
	}
}

// newest returns the folder of the newest of the Ironics that IRONSTATE_IRONICS names.
func newest(t *testing.T) (folder string) {
	t.Helper()
	needs.Installed(t, len(lockstep.Folders()) > 0, "a folder with a later Ironic, named by "+lockstep.FoldersVariable)
	var series states.Series
	for _, other := range lockstep.Folders() {
		found, err := lockstep.Find(t.Context(), other)
		require.NoError(t, err)
		if found.Series > series {
			folder, series = other, found.Series
		}
	}
	return folder
}

// TestARealIronicInstallsAFleet installs machines of several families on the newest Ironic in the folders that
// IRONSTATE_IRONICS names. Half of them boot the image that the fleet serves, the others what Ironic builds for each of
// them with a token.
func TestARealIronicInstallsAFleet(t *testing.T) {
	needs.Programs(t, "baremetal")
	l := newLab(t, newest(t))
	var all []entry
	for _, args := range [][]string{
		{"-name", "ready", "-api", l.ironic.Endpoint(), "-profile", "dell", "-profile", "lenovo", "-profile", "dmtf"},
		{"-name", "built", "-profile", "plain", "-profile", "supermicro", "-profile", "hpe"},
	} {
		folder, found := l.fleet(append(args, "-machines", strconv.Itoa(*machines/2))...)
		l.create(folder)
		all = append(all, found...)
	}
	began := time.Now()
	var installing sync.WaitGroup
	for _, m := range all {
		installing.Go(func() {
			if err := l.install(m); err != nil {
				t.Errorf("%s of %s: %v", m.Name, m.Profile, err)
			}
		})
	}
	installing.Wait()
	t.Logf("Ironic %s: %d machines from enroll to active in %v", l.ironic.Version, len(all), time.Since(began).Round(time.Second))
}
