// SPDX-License-Identifier: Apache-2.0

package machinetest

import (
	"bytes"
	"context"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// MAC is the address of the network interface of the machine.
const MAC = "52:54:00:00:00:07"

// Config configures a [Lab]. The zero value is an Ironic of the latest series and a BMC without quirks.
type Config struct {
	Series states.Series // the OpenStack series to behave as; the zero value is the latest
	// SkipAutomatedClean makes nodes available without automated cleaning.
	SkipAutomatedClean bool
	// Profile is the family of BMCs that the machine's belongs to, such as [bmctest.Lenovo].
	Profile bmctest.Profile
	// DiskSize is the size of the machine's disk in bytes; 256 MiB if 0. The file is sparse.
	DiskSize int64
}

// Lab is an Ironic and a machine with a BMC, an agent and a disk. It is safe for concurrent use, but the methods that
// may fail the test must be called by the test's goroutine. Make it with [New].
type Lab struct {
	*conductortest.Server // the Ironic

	BMC     *bmctest.Redfish
	Machine *agenttest.Machine

	t        testing.TB
	systemID string
	ca       string // the file of the BMC's certificate
	files    *files
}

// New starts a Lab, and ends it at the end of the test. It fails the test if the Config is invalid.
func New(t testing.TB, config Config) *Lab {
	t.Helper()
	l := &Lab{t: t, ca: filepath.Join(t.TempDir(), "ca.pem"), files: newFiles(t), systemID: config.Profile.SystemID}
	if l.systemID == "" {
		l.systemID = "1"
	}
	power := func(on bool, source, image string) { l.Machine.Power(on, source, image) }
	var err error
	l.BMC, err = bmctest.NewRedfish(bmctest.RedfishConfig{Profile: config.Profile, Systems: []bmctest.System{{OnPower: power}}})
	l.require(err)
	t.Cleanup(func() { l.require(l.BMC.Close()) })
	l.require(os.WriteFile(l.ca, l.BMC.CAPEM, 0o600))

	client, err := images.NewClient("127.0.0.1")
	l.require(err)
	redfish, err := hardware.NewRedfish(hardware.Config{Client: client, Pause: time.Millisecond})
	l.require(err)
	t.Cleanup(func() { l.require(redfish.Close(context.Background())) })
	l.Server = conductortest.New(t, conductortest.Config{
		Series: config.Series, SkipAutomatedClean: config.SkipAutomatedClean, Hardware: map[string]conductor.Hardware{"redfish": redfish},
	})
	l.Wrap(afterAgents)

	l.Machine, err = agenttest.New(agenttest.Config{
		API: l.URL, MACs: []string{MAC}, DiskSize: config.DiskSize, PowerOff: func() { _ = l.BMC.SetPower(l.systemID, "Off") },
	})
	l.require(err)
	t.Cleanup(func() { l.require(l.Machine.Close()) })
	return l
}

func (l *Lab) require(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("machinetest: %v", err)
	}
}

// DriverInfo returns the driver_info of a node of the driver redfish that is the machine. Its deploy_iso boots the
// agent over virtual media. The caller owns the map.
func (l *Lab) DriverInfo() map[string]any {
	return map[string]any{
		"redfish_address": "https://" + l.BMC.Addr, "redfish_system_id": "/redfish/v1/Systems/" + l.systemID, "redfish_verify_ca": l.ca,
		"redfish_username": bmctest.DefaultUser, "redfish_password": bmctest.DefaultPassword,
		"deploy_iso": l.files.add("agent.iso", nil),
	}
}

// InstanceInfo serves an image to the agent, and returns the instance_info with which it is installed. The image is of
// a whole disk, raw or qcow2. The caller owns the map.
func (l *Lab) InstanceInfo(image []byte) map[string]any {
	format := "raw"
	if bytes.HasPrefix(image, []byte("QFI\xfb")) {
		format = "qcow2"
	}
	sum := fmt.Sprintf("%x", sha512.Sum512(image))
	return map[string]any{
		"image_source": l.files.add(sum[:16], image), "image_disk_format": format, "image_os_hash_algo": "sha512", "image_os_hash_value": sum,
	}
}

// Enroll adds a node that is the machine, in enroll, with its port. The boot interface is redfish-virtual-media, and
// the inspect interface agent.
func (l *Lab) Enroll(name string) *conductor.Node {
	l.t.Helper()
	n := l.Add(conductor.Node{
		Name: name, Driver: "redfish", DriverInfo: l.DriverInfo(),
		Interfaces: map[string]string{"boot": "redfish-virtual-media", "inspect": "agent"},
	})
	_, err := l.Conductor.CreateObject(l.t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: MAC})
	l.require(err)
	return n
}

// Disk returns the content of the machine's disk.
func (l *Lab) Disk() []byte {
	l.t.Helper()
	content, err := os.ReadFile(l.Machine.Disk)
	l.require(err)
	return content
}

// files serves files to agents. It is safe for concurrent use.
type files struct {
	url     string
	mu      sync.Mutex
	content map[string][]byte // by path
}

func newFiles(t testing.TB) *files {
	f := &files{content: map[string][]byte{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// add serves a file and returns its URL.
func (f *files) add(name string, content []byte) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content["/"+name] = content
	return f.url + "/" + name
}

// ServeHTTP implements [http.Handler].
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	content, ok := f.content[r.URL.Path]
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

// afterAgents lets a request for a provision state wait for the requests of agents that are under way: the last lookup
// of an agent that was just powered off would take the token of the next one.
func afterAgents(api http.Handler) http.Handler {
	var agents sync.RWMutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/lookup" || strings.HasPrefix(r.URL.Path, "/v1/heartbeat/"):
			agents.RLock()
			defer agents.RUnlock()
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/states/provision"):
			agents.Lock()
			defer agents.Unlock()
		}
		api.ServeHTTP(w, r)
	})
}
