// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
)

func TestTheRecordAfterARAIDStepOfTheAgent(t *testing.T) {
	at := time.Date(2026, 8, 20, 18, 25, 7, 123456000, time.UTC)
	made := map[string]any{
		"logical_disks": []any{map[string]any{"is_root_volume": true, "raid_level": "1"}}, "last_updated": "2026-08-20 18:25:07.123456",
	}
	const reported = `{"clean_result": {"logical_disks": [{"is_root_volume": true, "raid_level": "1"}]}}`
	const applied = `{"deploy_result": {"logical_disks": [{"is_root_volume": true, "raid_level": "1"}]}}`
	hint := map[string]any{"name": "/dev/sda"}
	properties := map[string]any{"root_device": hint, "capabilities": "raid_level:1"}
	for name, test := range map[string]struct {
		work       agent.Work
		step       string
		result     string
		config     map[string]any // after the step; nil if the step changes nothing
		properties map[string]any
		err        string
	}{
		"another step":             {agent.Clean, "deploy.erase_devices", reported, nil, nil, ""},
		"a step of a service":      {agent.Service, "raid.create_configuration", reported, nil, nil, ""},
		"the step of the other":    {agent.Deploy, "raid.create_configuration", reported, nil, nil, ""},
		"a deletion":               {agent.Clean, "raid.delete_configuration", `{}`, map[string]any{}, map[string]any{}, ""},
		"a cleaning":               {agent.Clean, "raid.create_configuration", reported, made, properties, ""},
		"a deployment":             {agent.Deploy, "raid.apply_configuration", applied, made, properties, ""},
		"the result of other work": {agent.Deploy, "raid.apply_configuration", reported, nil, nil, "has not reported"},
	} {
		change, err := raidStepDone(test.work, test.step, json.RawMessage(test.result), at)
		if test.err != "" {
			require.ErrorContains(t, err, test.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, test.config != nil, change != nil, name)
		if change == nil {
			continue
		}
		n := &Node{Properties: map[string]any{"root_device": hint}}
		require.NoError(t, change(n), name)
		require.Equal(t, test.config, n.RAIDConfig, name)
		require.Equal(t, test.properties, n.Properties, name)
	}
}

func TestTheRulesForAnImageKnowWhatTheRecordSaysOfIt(t *testing.T) {
	n := &Node{
		UUID:         "1be26c0b",
		InstanceInfo: map[string]any{"image_source": "http://h/x", "capabilities": map[string]any{"disk_label": "msdos"}},
		DriverInfo:   map[string]any{"image_http_proxy": "http://p"},
		Deployment:   DeploymentInfo{WholeDisk: new(bool), Root: "root"},
		Properties:   map[string]any{"cpu_arch": "ppc64", "capabilities": "boot_mode:bios"},
	}
	want := agentimage.Node{
		UUID: n.UUID, InstanceInfo: n.InstanceInfo, DriverInfo: n.DriverInfo, WholeDisk: new(bool), BootMode: "bios", DiskLabel: "msdos",
		Root: "root", CPUArch: "ppc64",
	}
	require.Equal(t, want, n.image())
	n.TargetRAIDConfig = map[string]any{"logical_disks": []any{map[string]any{"controller": "software"}}}
	want.SoftwareRAID = true
	require.Equal(t, want, n.image())
	require.Equal(t, "uefi", (&Node{}).image().BootMode)
}
