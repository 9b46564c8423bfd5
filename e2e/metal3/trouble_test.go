// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestSilentAgentIsReportedAfterTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		timeouts machine.Timeouts
		do       func(s *site) string
		want     string
		state    states.State
	}{
		"inspection": {machine.Timeouts{Inspect: time.Millisecond}, func(s *site) string {
			require.Empty(s, s.register(false))
			_, message := s.inspect(false)
			return message
		}, "Timeout reached while inspecting the node.", states.InspectFail},
		"image": {machine.Timeouts{Deploy: time.Millisecond}, func(s *site) string {
			s.prepared()
			return s.rawImage(agenttest.Image(4<<20, 7))
		}, "Image provisioning failed: Timeout reached while waiting for callback for node ", states.DeployFail},
		"automated cleaning": {machine.Timeouts{Clean: time.Millisecond}, func(s *site) string {
			s.prepared()
			require.Empty(s, s.liveISO("http://images.invalid/live.iso"))
			s.cleaning = metal3api.CleaningModeMetadata
			require.Empty(s, s.register(false))
			return s.removeInstance(false)
		}, "Cleaning failed: Timeout reached while cleaning the node.", states.CleanFail},
	} {
		t.Run(name, func(t *testing.T) {
			s := startWith(t, conductor.Config{Timeouts: &c.timeouts, CheckInterval: 10 * time.Millisecond})
			for _, request := range []string{"inspection", "lookup", "heartbeat"} {
				s.machine.AddFault(agenttest.Fault{On: request, Do: agenttest.Silent()})
			}
			require.Contains(t, c.do(s), c.want)
			s.requireState(c.state)
			require.Positive(t, s.machine.Boots())
		})
	}
}

func TestDiskIsCleanedBetweenTwoInstances(t *testing.T) {
	s := start(t)
	s.cleaning = metal3api.CleaningModeMetadata
	s.prepared()
	require.Empty(t, s.rawImage(agenttest.Image(4<<20, 7)))
	s.requireRunning("disk")
	head := func() []byte {
		disk, err := os.Open(s.machine.Disk)
		require.NoError(t, err)
		defer disk.Close()
		first := make([]byte, 512)
		_, err = io.ReadFull(disk, first)
		require.NoError(t, err)
		return first
	}
	require.NotEqual(t, make([]byte, 512), head())
	s.deprovision()
	require.Equal(t, make([]byte, 512), head())
	require.Empty(t, s.rawImage(agenttest.Image(4<<20, 8)))
	s.requireRunning("disk")
	require.NotEqual(t, make([]byte, 512), head())
}

func TestHardwareRAIDIsRefused(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	size := 100
	require.Contains(t, s.prepare(provisioner.PrepareData{TargetRAIDConfig: &metal3api.RAIDConfig{
		HardwareRAIDVolumes: []metal3api.HardwareRAIDVolume{{Level: "1", SizeGibibytes: &size}},
	}}, false), "raid")
	s.requireState(states.CleanFail)
	require.Equal(t, "redfish", s.node()["raid_interface"])
}

func TestAgentExecutesTheStepsOfASoftwareRAID(t *testing.T) {
	var done []string
	disks := []any{map[string]any{"size_gb": "MAX", "raid_level": "1", "controller": "software", "is_root_volume": true}}
	step := func(name string, result any) agenttest.Step {
		return agenttest.Step{Work: "clean", Interface: "raid", Name: name, Run: func(context.Context, map[string]any) (any, error) {
			done = append(done, name)
			return result, nil
		}}
	}
	s := start(t, step("delete_configuration", nil), step("create_configuration", map[string]any{"logical_disks": disks}))
	require.Empty(t, s.register(false))
	require.Empty(t, s.prepare(provisioner.PrepareData{TargetRAIDConfig: &metal3api.RAIDConfig{
		SoftwareRAIDVolumes: []metal3api.SoftwareRAIDVolume{{Level: "1"}},
	}}, false))
	s.requireState(states.Manageable)
	require.Equal(t, []string{"delete_configuration", "create_configuration"}, done)
	n := s.node()
	require.Equal(t, "agent", n["raid_interface"])
	for _, config := range []string{"target_raid_config", "raid_config"} {
		require.Equal(t, disks, n[config].(map[string]any)["logical_disks"], config)
	}
}

func TestFirmwareUpdateIsRefused(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	require.Contains(t, s.prepare(provisioner.PrepareData{
		TargetFirmwareComponents: []metal3api.FirmwareUpdate{{Component: "bmc", URL: "http://images.invalid/bmc.bin"}},
	}, false), "firmware")
	s.requireState(states.CleanFail)
}
