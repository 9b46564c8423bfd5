// SPDX-License-Identifier: Apache-2.0

package raidconfig

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheRecordOfAConfigurationThatTheAgentHasMade(t *testing.T) {
	at := time.Date(2026, 8, 20, 20, 25, 7, 123456000, time.FixedZone("", 7200))
	disk := func(more string) string {
		return `{"logical_disks": [{"size_gb": 100, "raid_level": "1"` + more + `}]}`
	}
	const unchanged = `{"capabilities": "boot_mode:uefi,raid_level:5", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`
	atMost := `{"logical_disks": []` + strings.Repeat(" ", maxBytes-len(`{"clean_result": {"logical_disks": []}}`)) + `}`
	for name, test := range map[string]struct {
		result     string
		properties string
		err        string
	}{
		"no root volume": {disk(``), unchanged, ""},
		"a root volume": {
			disk(`, "is_root_volume": true`),
			`{"capabilities": "boot_mode:uefi,raid_level:1", "local_gb": 100, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"with a hint": {
			disk(`, "is_root_volume": true, "root_device_hint": {"wwn": "0x5"}`),
			`{"capabilities": "boot_mode:uefi,raid_level:1", "local_gb": 100, "root_device": {"wwn": "0x5"}}`, "",
		},
		"of the largest size": {
			`{"logical_disks": [{"size_gb": "MAX", "raid_level": "1+0", "is_root_volume": true}, {"size_gb": 5}]}`,
			`{"capabilities": "boot_mode:uefi,raid_level:1+0", "local_gb": 7, "root_device": {"name": "/dev/sda"}}`, "",
		},
		"two root volumes":        {`{"logical_disks": [{"is_root_volume": true}, {"is_root_volume": true}]}`, "", "more than one root volume"},
		"no list of disks":        {`{"logical_disks": 7}`, "", "no list of logical_disks"},
		"disks that are no disks": {`{"logical_disks": [7, null]}`, unchanged, ""},
		"nothing":                 {`null`, "", "has not reported"},
		"an empty object":         {`{}`, "", "has not reported"},
		"a text":                  {`"done"`, "", "has not reported"},
		"as much as is read":      {atMost, unchanged, ""},
		"too much":                {`{"x": "` + strings.Repeat("x", maxBytes) + `"}`, "", "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := Parse(json.RawMessage(`{"clean_result": `+test.result+`}`), "clean_result")
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			old := map[string]any{
				"capabilities": "boot_mode:uefi,raid_level:5",
				"local_gb":     7,
				"root_device":  map[string]any{"name": "/dev/sda"},
			}
			properties, err := json.Marshal(config.Properties(old))
			require.NoError(t, err)
			require.JSONEq(t, test.properties, string(properties))
			require.Equal(t, "boot_mode:uefi,raid_level:5", old["capabilities"], "the old map stays")
			record := config.Record(at)
			require.Equal(t, "2026-08-20 18:25:07.123456", record["last_updated"])
			delete(record, "last_updated")
			stored, err := json.Marshal(record)
			require.NoError(t, err)
			require.JSONEq(t, test.result, string(stored))
			require.Contains(t, config.Record(at), "last_updated", "the caller owns the map")
		})
	}
	const control = `{"deploy_result": {"logical_disks": [{"is_root_volume": true, "raid_level": "1\u001b[2J"}]}}`
	config, err := Parse(json.RawMessage(control), "deploy_result")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"capabilities": "raid_level:1 [2J"}, config.Properties(nil), "without control characters")
	config, err = Parse(json.RawMessage(`{"clean_result": {"logical_disks": [{"is_root_volume": true, "size_gb": 1e999}]}}`), "clean_result")
	require.NoError(t, err)
	require.Nil(t, config.Properties(nil), "no number holds the size")
	_, err = Parse(json.RawMessage(`7`), "clean_result")
	require.ErrorContains(t, err, "has not reported")
	config, err = Parse(json.RawMessage(`{"clean_result": {"logical_disks": []}}`), "clean_result")
	require.NoError(t, err)
	require.Nil(t, config.Properties(nil))
}

func TestATargetMayHaveALogicalDiskBySoftware(t *testing.T) {
	disk := func(controller any) any { return map[string]any{"controller": controller} }
	for _, test := range []struct {
		disks any
		want  bool
	}{
		{nil, false}, {7, false}, {[]any{}, false}, {[]any{7, disk("x")}, false}, {[]any{disk("x"), disk("software")}, true},
	} {
		require.Equal(t, test.want, BySoftware(map[string]any{"logical_disks": test.disks}))
	}
	require.False(t, BySoftware(nil))
}
