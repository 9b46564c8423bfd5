// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestTheBootModeIsTheInstancesOrTheNodes(t *testing.T) {
	bios := map[string]any{"boot_mode": "bios"}
	uefi := map[string]any{"boot_mode": "uefi"}
	for _, test := range []struct {
		instance, node any
		want           string
	}{
		{nil, nil, ""},
		{bios, nil, "bios"},
		{`{"boot_mode": "bios"}`, nil, "bios"},
		{`{"boot_mode": "uefi"}`, "boot_mode:bios", "uefi"},
		{uefi, "boot_mode:bios", "uefi"},
		{nil, "boot_mode:bios", "bios"},
		{nil, "cpu_vt:true, boot_mode : bios ,x", "bios"},
		{nil, "boot_mode:uefi", "uefi"},
		{nil, "boot_mode", ""},
		{"no JSON", "boot_mode:bios", "bios"},
		{map[string]any{"boot_mode": 7}, 7, ""},
		{map[string]any{"boot_mode": "fast"}, "boot_mode:bios", ""},
	} {
		n := &conductor.Node{
			InstanceInfo: map[string]any{"capabilities": test.instance}, Properties: map[string]any{"capabilities": test.node},
		}
		require.Equal(t, test.want, n.WantedBootMode(), "%v %v", test.instance, test.node)
	}
}
