// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestTheAgentIsInDriverInternalInfo(t *testing.T) {
	type object = map[string]any
	n := fullNode()
	require.Equal(t, object{
		"of": "driver_internal_info", "list": []any{"a", nil, true},
		"agent_url": "https://10.0.0.7:9999", "agent_secret_token": "token", "agent_secret_token_pregenerated": true,
		"agent_verify_ca": "PEM", "agent_version": "9.1", "agent_last_heartbeat": "2026-11-22T04:05:06.000007",
		"agent_cached_clean_steps": object{"deploy": []any{object{
			"interface": "deploy", "step": "erase_devices", "priority": json.Number("10"), "abortable": true, "reboot_requested": false,
			"argsinfo": object{"force": object{"description": "even if", "required": true}},
		}}},
		"agent_cached_clean_steps_refreshed": "2026-11-22T04:05:06.000007",
		"is_whole_disk_image":                true,
		"deploy_boot_mode":                   "uefi",
		"root_uuid_or_disk_id":               "0x6f7cc4a8",
		"last_power_state_change":            "2026-11-22T04:05:06.000007",
		"hardware_manager_version":           object{"generic_hardware_manager": "1.1"},
	}, n.InternalInfo())
	require.Equal(t, fullNode(), n, "the map is a new one")
	require.Empty(t, (&conductor.Node{}).InternalInfo())
}
