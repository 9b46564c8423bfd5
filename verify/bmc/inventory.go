package bmc

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/ironstate/ironstate/states"
)

// Inventory is a BMC's information on its machine. A number is 0 if the BMC does not
// report it.
type Inventory struct {
	Power             states.Power
	MemoryMiB         int // MemorySummary.TotalSystemMemoryGiB of the ComputerSystem
	LogicalProcessors int // ProcessorSummary.LogicalProcessorCount: hardware threads
}

// Inventory reads a node's inventory over Redfish. Over IPMI the error is of the kind
// [verify.Unsupported].
func (d *Driver) Inventory(ctx context.Context, id string) (Inventory, error) {
	var inventory Inventory
	err := d.do(ctx, id, "read the inventory", func(ctx context.Context, conn control) (err error) {
		inventory, err = conn.inventory(ctx)
		return err
	})
	return inventory, err
}

func (*ipmiConnection) inventory(context.Context) (Inventory, error) {
	return Inventory{}, unsupported("IPMI has no inventory of processors and memory")
}

// maxGiB is more memory than a machine has.
const maxGiB = 1 << 30

func (r *redfishConnection) inventory(ctx context.Context) (Inventory, error) {
	power, err := readPower(ctx, r)
	if err != nil {
		return Inventory{}, err
	}
	var (
		memory     struct{ TotalSystemMemoryGiB float64 }
		processors struct{ LogicalProcessorCount int }
		system     = r.guard.system
	)
	err = cmp.Or(system.get("MemorySummary", &memory), system.get("ProcessorSummary", &processors))
	if err != nil {
		return Inventory{}, err
	}
	gib, threads := memory.TotalSystemMemoryGiB, processors.LogicalProcessorCount
	if gib < 0 || gib > maxGiB || threads < 0 {
		return Inventory{}, garbled(fmt.Sprintf("the system has %v GiB of memory and %d processors", gib, threads))
	}
	return Inventory{Power: power, MemoryMiB: int(math.Round(gib * 1024)), LogicalProcessors: threads}, nil
}
