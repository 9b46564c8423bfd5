// SPDX-License-Identifier: Apache-2.0

package powerstrip_test

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/examples/powerstrip"
	"github.com/ironstate/ironstate/states"
)

const password = "correct+horse/1"

// strip is a power strip with one outlet.
type strip struct {
	*httptest.Server
	power func(on bool) // is called for each change

	mu       sync.Mutex
	password string
	on       bool
	changes  int
	starts   int
}

func newStrip(t *testing.T, power func(on bool)) *strip {
	s := &strip{power: power, password: password}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *strip) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, given, _ := r.BasicAuth()
	if r.URL.Path != "/outlets/1" || user != "admin" || given != s.password {
		http.Error(w, "no such outlet", http.StatusForbidden)
		return
	}
	if r.Method == http.MethodPut {
		var wanted struct{ On bool }
		if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&wanted) != nil {
			http.Error(w, "want on", http.StatusBadRequest)
			return
		}
		s.changes++
		if s.on != wanted.On {
			s.on = wanted.On
			if s.on {
				s.starts++
			}
			s.power(s.on)
		}
	}
	fmt.Fprintf(w, `{"on": %t}`, s.on)
}

func (s *strip) node() conductor.Node {
	return conductor.Node{Name: "rack1-7", Driver: "powerstrip", DriverInfo: map[string]any{
		"powerstrip_url": s.URL, "powerstrip_outlet": 1, "powerstrip_password": password,
	}}
}

func TestThePowerStripKeepsThePromisesOfHardware(t *testing.T) {
	for _, way := range []func(*strip){(*strip).unplug, (*strip).rekey} {
		s := newStrip(t, func(bool) {})
		strips, err := powerstrip.New(hardware.Config{})
		require.NoError(t, err)
		n := s.node()
		require.NoError(t, hardwaretest.Check(hardwaretest.Config{
			Hardware: strips, Node: &n, Secrets: []string{password}, Break: func() { way(s) },
			Changes: func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.changes },
			Starts:  func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.starts },
		}))
	}
}

// unplug makes the strip unreachable.
func (s *strip) unplug() {
	s.CloseClientConnections()
	s.Close()
}

// rekey gives the strip another password than the node has.
func (s *strip) rekey() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = "another"
}

// A machine on a power strip boots from the network first, and the network's server gives the agent to a machine that
// has nothing on its disk.
func TestAMachineOnAPowerStripIsInstalled(t *testing.T) {
	content := agenttest.Image(3<<20, 7)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }))
	t.Cleanup(files.Close)
	client, err := images.NewClient("127.0.0.1")
	require.NoError(t, err)
	strips, err := powerstrip.New(hardware.Config{Client: client})
	require.NoError(t, err)
	ironic := conductortest.New(t, conductortest.Config{
		SkipAutomatedClean: true, Hardware: map[string]conductor.Hardware{"powerstrip": strips},
	})
	machine, err := agenttest.New(agenttest.Config{API: ironic.URL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, machine.Close()) })
	s := newStrip(t, func(on bool) {
		source := "Pxe"
		if machine.Written() > 0 {
			source = "Hdd"
		}
		machine.Power(on, source, "")
	})
	n := s.node()
	n.DriverInfo["deploy_forces_oob_reboot"] = true // a strip cannot see that the agent has powered its machine off
	n.InstanceInfo = map[string]any{
		"image_source": files.URL, "image_disk_format": "raw",
		"image_os_hash_algo": "sha512", "image_os_hash_value": fmt.Sprintf("%x", sha512.Sum512(content)),
	}
	added := ironic.Add(n)
	port := &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: added.UUID}, Address: "52:54:00:00:00:01"}
	_, err = ironic.Conductor.CreateObject(t.Context(), port)
	require.NoError(t, err)
	for _, move := range []struct {
		word string
		want states.State
	}{{"manage", states.Manageable}, {"provide", states.Available}, {"active", states.Active}} {
		request := conductor.ProvisionRequest{Target: move.word, Version: states.Latest().MaxAPIVersion()}
		require.NoError(t, ironic.Conductor.Provision(t.Context(), added.UUID, request))
		ironic.WaitFor(t.Context(), added.UUID, move.want)
	}
	disk, err := os.ReadFile(machine.Disk)
	require.NoError(t, err)
	require.Equal(t, content[512:], disk[512:len(content)])
	require.Equal(t, "disk", machine.Running())
}
