package hardware

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
		want           bool
	}{
		{nil, nil, false},
		{bios, nil, true},
		{`{"boot_mode": "bios"}`, nil, true},
		{`{"boot_mode": "uefi"}`, "boot_mode:bios", false},
		{uefi, "boot_mode:bios", false},
		{nil, "boot_mode:bios", true},
		{nil, "cpu_vt:true, boot_mode : bios ,x", true},
		{nil, "boot_mode:uefi", false},
		{nil, "boot_mode", false},
		{"no JSON", "boot_mode:bios", true},
		{map[string]any{"boot_mode": 7}, 7, false},
	} {
		n := &conductor.Node{
			InstanceInfo: map[string]any{"capabilities": test.instance}, Properties: map[string]any{"capabilities": test.node},
		}
		require.Equal(t, test.want, bootsByBIOS(n), "%v %v", test.instance, test.node)
	}
}
