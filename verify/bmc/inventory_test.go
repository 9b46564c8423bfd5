package bmc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestTheInventoryIsThatOfTheBMC(t *testing.T) {
	all := bmc.Inventory{Power: states.PowerOn, MemoryMiB: 64 << 10, LogicalProcessors: 32}
	with := func(change func(*bmc.Inventory)) bmc.Inventory {
		i := all
		change(&i)
		return i
	}
	tests := []struct {
		name string
		do   bmctest.Effect
		want bmc.Inventory
		bad  bool
	}{
		{"all", bmctest.Effect{}, all, false},
		{"no memory", bmctest.WithoutProperty("MemorySummary"), with(func(i *bmc.Inventory) { i.MemoryMiB = 0 }), false},
		{"no processors", bmctest.Property("ProcessorSummary", map[string]any{"LogicalProcessorCount": nil}), with(func(i *bmc.Inventory) { i.LogicalProcessors = 0 }), false},
		{"half a GiB", bmctest.Property("MemorySummary", map[string]any{"TotalSystemMemoryGiB": 0.5}), with(func(i *bmc.Inventory) { i.MemoryMiB = 512 }), false},
		{"memory without end", bmctest.Property("MemorySummary", map[string]any{"TotalSystemMemoryGiB": 1e300}), bmc.Inventory{}, true},
		{"less than none", bmctest.Property("ProcessorSummary", map[string]any{"LogicalProcessorCount": -1}), bmc.Inventory{}, true},
		{"a word", bmctest.Property("MemorySummary", "much"), bmc.Inventory{}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := startRedfish(t)
			server.AddFault(bmctest.Fault{On: systemPath, Do: test.do})
			d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
			got, err := d.Inventory(t.Context(), "node")
			require.Equal(t, test.want, got)
			if test.bad {
				require.ErrorIs(t, err, verify.Protocol)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func TestIPMIHasNoInventory(t *testing.T) {
	server := startIPMI(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": ipmiConfigOf(server)})
	_, err := d.Inventory(t.Context(), "node")
	require.ErrorIs(t, err, verify.Unsupported)
}
