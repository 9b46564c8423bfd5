// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// front is the API of a conductor. It keeps the microversions that clients choose, and can say that the highest is a
// lower one.
type front struct {
	http.Handler
	highest, shown string // the highest microversion of the conductor, and the one that is shown in its place, if any

	mu     sync.Mutex
	chosen []string
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get("X-OpenStack-Ironic-API-Version")
	if version != "latest" && (strings.HasPrefix(r.URL.Path, "/v1/nodes") || strings.HasPrefix(r.URL.Path, "/v1/ports")) {
		f.mu.Lock()
		if !slices.Contains(f.chosen, version) {
			f.chosen = append(f.chosen, version)
		}
		f.mu.Unlock()
	}
	if f.shown == "" || r.URL.Path != "/v1/" {
		f.Handler.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	f.Handler.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(f.highest), []byte(f.shown)))
}

// The operator chooses the newest of its five microversions that the service has, and works with it. To register a host
// it sends disable_power_off, which Ironic refuses before 2025.1: with an older service it manages only hosts that are
// registered already.
func TestOperatorChoosesItsMicroversion(t *testing.T) {
	needs.Time(t)
	for name, c := range map[string]struct {
		series states.Series
		shown  string
		want   string
		known  bool // the host has to be registered already
	}{
		"2024.1":        {states.Caracal, "", "1.89", true},
		"2024.2":        {states.Dalmatian, "", "1.93", true},
		"2025.1":        {states.Epoxy, "", "1.95", false},
		"2025.2":        {states.Flamingo, "", "1.95", false},
		"within 2026.1": {states.Gazpacho, "1.109", "1.109", false},
		"2026.1":        {states.Gazpacho, "", "1.110", false},
		"2026.2":        {states.Hibiscus, "", "1.110", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &front{highest: c.series.MaxAPIVersion().String(), shown: c.shown}
			s := newSite(t, serveAPI(t, conductor.Config{Table: c.series.Table()}, f), 7, nil)
			if c.known {
				_, _, err := s.provisioner().Register(t.Context(), s.access(), false, false)
				require.ErrorContains(t, err, "disable_power_off")
				require.Nil(t, s.node())
				s.createNode()
			}
			require.Empty(t, s.register(false))
			s.requireState(states.Manageable)
			_, message := s.inspect(false)
			require.Empty(t, message)
			require.Empty(t, s.prepare(provisioner.PrepareData{}, false))
			require.Empty(t, s.rawImage(agenttest.Image(4<<20, 7)))
			s.requireRunning("disk")
			attached, err := s.provisioner().GetDataImageStatus(t.Context())
			if c.want == "1.89" {
				require.ErrorContains(t, err, "doesn't support Virtual Media Get API")
			} else {
				require.NoError(t, err)
			}
			require.False(t, attached)
			s.deprovision()
			require.Empty(t, s.delete())
			require.Nil(t, s.node())
			require.Equal(t, []string{c.want}, f.chosen)
		})
	}
}

func TestOperatorRefusesAnOlderService(t *testing.T) {
	s := newSite(t, serveAPI(t, conductor.Config{Table: states.Bobcat.Table()}, &front{}), 7, nil)
	p, err := s.factory.NewProvisioner(t.Context(), s.host, func(string, string) {})
	require.NoError(t, err)
	ready, err := p.TryInit(t.Context())
	require.NoError(t, err)
	require.False(t, ready)
}

// createNode creates the node of the host and its port as an older operator does.
func (s *site) createNode() {
	s.Helper()
	access, err := bmc.NewAccessDetails(s.host.BMCAddress, true)
	require.NoError(s, err)
	status, n := s.request(http.MethodPost, "/v1/nodes", map[string]any{
		"name":              s.nodeName(),
		"driver":            access.Driver(),
		"driver_info":       access.DriverInfo(s.host.BMCCredentials),
		"boot_interface":    access.BootInterface(),
		"deploy_interface":  "direct",
		"inspect_interface": "agent",
		"raid_interface":    access.RAIDInterface(),
	})
	require.Equal(s, http.StatusCreated, status, n)
	status, port := s.request(http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n["uuid"], "address": s.mac})
	require.Equal(s, http.StatusCreated, status, port)
}

func TestPowerOfAHostThatStaysOn(t *testing.T) {
	s := start(t)
	s.staysOn = true
	require.Empty(t, s.register(false))
	require.Equal(t, true, s.node()["disable_power_off"])
	require.Empty(t, s.powerOn(false))
	s.events = nil
	result, err := s.provisioner().PowerOff(t.Context(), metal3api.RebootModeHard, false, s.cleaning)
	require.NoError(t, err)
	require.True(t, result.Dirty)
	require.Len(t, s.events, 1, "the request for a reboot is accepted")
	s.await(func() bool { return s.node()["target_power_state"] == nil })
	require.Equal(t, "On", s.bmc.Power("1"))
}

func TestDataImageIsAttachedAndDetached(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	attached := func() bool {
		for {
			attached, err := s.provisioner().GetDataImageStatus(t.Context())
			if !errors.Is(err, provisioner.ErrNodeIsBusy) {
				require.NoError(t, err)
				return attached
			}
		}
	}
	const image = "http://images.invalid/data.iso"
	require.NoError(t, s.provisioner().AttachDataImage(t.Context(), image))
	s.await(attached)
	require.Equal(t, image, s.bmc.Media("CD"))
	require.NoError(t, s.provisioner().DetachDataImage(t.Context()))
	s.await(func() bool { return !attached() })
	require.Empty(t, s.bmc.Media("CD"))
}

func TestHealth(t *testing.T) {
	s := startWith(t, conductor.Config{Power: powersync.Config{Interval: 10 * time.Millisecond}})
	require.Empty(t, s.register(false))
	s.await(func() bool { return s.provisioner().GetHealth(t.Context()) == provisioner.HealthOK })
}

func TestFirmwareComponents(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	components, err := s.provisioner().GetFirmwareComponents(t.Context())
	require.NoError(t, err)
	var names []string
	for _, c := range components {
		require.NotEmpty(t, c.CurrentVersion)
		names = append(names, c.Component)
	}
	require.Subset(t, names, []string{"bios", "bmc"})
}

// With 1.110 the operator aborts a deployment whose host is to be forgotten. Before, it tears the instance down.
func TestHostIsDetachedFromADeployment(t *testing.T) {
	for _, series := range []states.Series{states.Flamingo, states.Hibiscus} {
		t.Run(series.String(), func(t *testing.T) {
			s := startWith(t, conductor.Config{Table: series.Table()})
			s.prepared()
			s.machine.AddFault(agenttest.Fault{On: "lookup", Do: agenttest.Silent()})
			data := provisioner.ProvisionData{Image: metal3api.Image{URL: s.serve(agenttest.Image(4<<20, 7)) + "/x.raw",
				DiskFormat: new("raw"), Checksum: "00",
				ChecksumType: metal3api.SHA256}, HostConfig: hostConfig{}, BootMode: metal3api.UEFI}
			s.await(func() bool {
				_, err := s.provisioner().Provision(t.Context(), data, false)
				require.NoError(t, err)
				return s.node()["provision_state"] == states.DeployWait.String()
			})
			require.Empty(t, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) { return p.Detach(t.Context(), true) }))
			require.Nil(t, s.node())
		})
	}
}
