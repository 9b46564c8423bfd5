// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// agentInspection is the name of the inspect interface by which an agent inspects its machine.
const agentInspection = "agent"

// inspector is the inspect interface "agent".
type inspector struct{ *BMC }

// start boots the agent, which then sends its inspection data to the API. An agent in a ready image must
// contain the address.
//
// Source: inspect_hardware in ironic/drivers/modules/inspector/interface.py.
func (b inspector) start(ctx context.Context, t *conductor.Task) error {
	parameters := map[string]string{"ipa-inspection-callback-url": b.config.APIURL + "/v1/continue_inspection"}
	err := b.bootInto(ctx, t, func() error { return b.boot(t.Node()).prepareRamdisk(ctx, t, parameters) })
	if err != nil {
		return err
	}
	return conductor.ErrWait
}

// end powers the machine off, unless the node has disable_power_off, and removes what its boot needed.
func (b inspector) end(ctx context.Context, t *conductor.Task) error {
	if !t.Node().DisablePowerOff {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	if err := b.boot(t.Node()).cleanUpRamdisk(ctx, t); err != nil {
		return err
	}
	return t.ForgetAgent(ctx)
}

// inspect stores the BMC's inventory of the machine, and what of it belongs into the node's properties, and
// creates ports for the enabled network interfaces. It fails if the BMC reports neither memory nor
// processors, or if the node then lacks a property. If other parts cannot be read, the reason is in the plugin data.
//
// Source: inspect_hardware in ironic/drivers/modules/redfish/inspect.py.
func (b *BMC) inspect(ctx context.Context, t *conductor.Task) error {
	var found bmc.Inventory
	incomplete := b.do(t.Node(), func() (err error) {
		found, err = b.driver.Inspect(ctx, t.Node().UUID)
		return err
	})
	if incomplete != nil && (ctx.Err() != nil || found.Memory.PhysicalMB == 0 && found.CPU.Count == 0) {
		return incomplete
	}
	err := t.Update(ctx, func(n *conductor.Node) error {
		if found.Power != states.NoPower {
			n.Power = found.Power
		}
		return setProperties(n, found, incomplete == nil)
	})
	if err != nil {
		return err
	}
	inventory, err := asMap(found)
	if err != nil {
		return err
	}
	plugins := map[string]any{}
	if incomplete != nil {
		plugins["incomplete"] = incomplete.Error()
	}
	var macs []string
	for _, i := range found.Interfaces {
		if i.Enabled {
			macs = append(macs, i.MACAddress)
		}
	}
	return t.StoreInspection(ctx, inventory, plugins, macs)
}

// setProperties sets the properties that an inspection finds. A complete inventory without a drive is that of a
// machine without disks, whose local_gb is 0.
func setProperties(n *conductor.Node, found bmc.Inventory, complete bool) error {
	if n.Properties == nil {
		n.Properties = map[string]any{}
	}
	nothing := found.Memory.PhysicalMB == 0 && found.CPU.Count == 0
	var missing []string
	for key, value := range map[string]int{"memory_mb": found.Memory.PhysicalMB, "cpus": found.CPU.Count} {
		if value > 0 {
			n.Properties[key] = value
		} else if nothing || n.Properties[key] == nil {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("failed to discover the following properties: %s on node %s", strings.Join(missing, ", "), n.UUID)
	}
	if found.CPU.Architecture != "" {
		n.Properties["cpu_arch"] = found.CPU.Architecture
	}
	if found.LocalGB > 0 || complete {
		n.Properties["local_gb"] = found.LocalGB
	}
	if mode := found.Boot.CurrentBootMode; mode != "" && n.WantedBootMode() == "" {
		capabilities, _ := n.Properties["capabilities"].(string)
		n.Properties["capabilities"] = strings.TrimPrefix(capabilities+",boot_mode:"+mode, ",")
	}
	return nil
}

// asMap returns a value as JSON has it.
func asMap(value any) (object map[string]any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return object, decoder.Decode(&object)
}
