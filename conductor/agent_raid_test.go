// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent"
)

func TestTheRecordAfterARAIDStepOfTheAgent(t *testing.T) {
	at := time.Date(2026, 8, 20, 18, 25, 7, 123456000, time.UTC)
	const updated = "2026-08-20 18:25:07.123456"
	disk := func(more string) string {
		return `{"logical_disks": [{"size_gb": 100, "raid_level": "1"` + more + `}]}`
	}
	atMost := `{"logical_disks": []` + strings.Repeat(" ", maxRAIDConfig-len(`{"clean_result": {"logical_disks": []}}`)) + `}`
	for name, test := range map[string]struct {
		work       agent.Work
		step       string
		result     string
		properties string // after the step; empty if the step changes nothing
		err        string
	}{
		"another step":          {agent.Clean, "deploy.erase_devices", `{}`, "", ""},
		"a step of a service":   {agent.Service, "raid.create_configuration", `{}`, "", ""},
		"the step of the other": {agent.Deploy, "raid.create_configuration", `{}`, "", ""},
		"a deletion": {
			agent.Clean, "raid.delete_configuration", `{}`,
			`{"capabilities": "boot_mode:uefi,raid_level:5", "local_gb": 7}`, "",
		},
		"no root volume": {
			agent.Clean, "raid.create_configuration", disk(``),
			`{"capabilities": "boot_mode:uefi,raid_level:5", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"a root volume": {
			agent.Clean, "raid.create_configuration", disk(`, "is_root_volume": true`),
			`{"capabilities": "boot_mode:uefi,raid_level:1", "local_gb": 100, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"with a hint": {
			agent.Deploy, "raid.apply_configuration", disk(`, "is_root_volume": true, "root_device_hint": {"wwn": "0x5"}`),
			`{"capabilities": "boot_mode:uefi,raid_level:1", "local_gb": 100, "root_device": {"wwn": "0x5"}}`, "",
		},
		"of the largest size": {
			agent.Clean, "raid.create_configuration",
			`{"logical_disks": [{"size_gb": "MAX", "raid_level": "1+0", "is_root_volume": true}, {"size_gb": 5}]}`,
			`{"capabilities": "boot_mode:uefi,raid_level:1+0", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"two root volumes": {
			agent.Clean, "raid.create_configuration",
			`{"logical_disks": [{"is_root_volume": true}, {"is_root_volume": true}]}`, "", "more than one root volume",
		},
		"no list of disks": {agent.Clean, "raid.create_configuration", `{"logical_disks": 7}`, "", "no list of logical_disks"},
		"disks that are no disks": {
			agent.Clean, "raid.create_configuration", `{"logical_disks": [7, null]}`,
			`{"capabilities": "boot_mode:uefi,raid_level:5", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"nothing":         {agent.Clean, "raid.create_configuration", `null`, "", "has not reported"},
		"an empty object": {agent.Clean, "raid.create_configuration", `{}`, "", "has not reported"},
		"a text":          {agent.Clean, "raid.create_configuration", `"done"`, "", "has not reported"},
		"as much as is read": {
			agent.Clean, "raid.create_configuration", atMost,
			`{"capabilities": "boot_mode:uefi,raid_level:5", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"too much": {agent.Clean, "raid.create_configuration", `{"x": "` + strings.Repeat("x", maxRAIDConfig) + `"}`, "", "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := raidStepDone(test.work, test.step, json.RawMessage(`{"`+string(test.work)+`_result": `+test.result+`}`), at)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			if test.properties == "" {
				require.Nil(t, change)
				return
			}
			n := &Node{Properties: map[string]any{
				"capabilities": "boot_mode:uefi,raid_level:5",
				"local_gb":     7,
				"root_device":  map[string]any{"name": "/dev/sda"},
			}}
			require.NoError(t, change(n))
			properties, err := json.Marshal(n.Properties)
			require.NoError(t, err)
			require.JSONEq(t, test.properties, string(properties))
			if test.step == "raid.delete_configuration" {
				require.Empty(t, n.RAIDConfig)
				require.NotNil(t, n.RAIDConfig)
				return
			}
			require.Equal(t, updated, n.RAIDConfig["last_updated"])
			delete(n.RAIDConfig, "last_updated")
			stored, err := json.Marshal(n.RAIDConfig)
			require.NoError(t, err)
			require.JSONEq(t, test.result, string(stored))
		})
	}
	change, err := raidStepDone(agent.Clean, "raid.create_configuration",
		json.RawMessage(`{"clean_result": {"logical_disks": [{"is_root_volume": true, "raid_level": "1\u001b[2J"}]}}`), at)
	require.NoError(t, err)
	n := &Node{}
	require.NoError(t, change(n))
	require.Equal(t, "raid_level:1 [2J", n.Properties["capabilities"], "without control characters")
	_, err = raidStepDone(agent.Clean, "raid.create_configuration", json.RawMessage(`7`), at)
	require.ErrorContains(t, err, "has not reported")
}
