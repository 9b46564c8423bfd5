// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// redfishInspect is the inspect interface "redfish".
type redfishInspect struct{ *bmcs }

// Steps implements [Stepper].
func (b redfishInspect) Steps(n Node, work states.Work) []conductor.Step {
	if work != states.WorkInspect {
		return nil
	}
	return []conductor.Step{{Step: "inspect_hardware", Priority: 100, Run: b.inspect}}
}

// inspect stores the BMC's inventory of the machine, sets the node's properties from it, and creates ports for the
// network interfaces. It fails if the BMC reports neither memory nor processors, or if the node then lacks a property;
// since 2025.2 the other properties are stored nevertheless. If other parts cannot be read, the reason is in the plugin
// data.
//
// Source: inspect_hardware in ironic/drivers/modules/redfish/inspect.py.
func (b redfishInspect) inspect(ctx context.Context, t *conductor.Task) error {
	found, incomplete := ask(ctx, b.bmcs, t.Node(), (*bmc.Driver).Inspect)
	if incomplete != nil && (ctx.Err() != nil || found.Memory.PhysicalMB == 0 && found.CPU.Count == 0) {
		return incomplete
	}
	properties := func(before map[string]any) map[string]any {
		return inspectedProperties(t.Series(), before, found, incomplete == nil)
	}
	var failure error
	if missing := missingProperties(t.Series(), properties(t.Node().Properties), found); len(missing) > 0 {
		//lint:ignore ST1005 the text comes from inspect_hardware in ironic/drivers/modules/redfish/inspect.py
		failure = fmt.Errorf("Failed to inspect hardware. Reason: Failed to discover the following properties: %s on node %s",
			strings.Join(missing, ", "), t.Node().UUID)
		if t.Series() < states.Flamingo {
			return failure
		}
	}
	inventory, plugins, incomplete, err := b.inventory(ctx, t, found, incomplete)
	if err != nil {
		return err
	}
	if incomplete != nil {
		plugins["incomplete"] = incomplete.Error()
	}
	var macs []string
	for _, i := range found.Interfaces {
		if i.Enabled {
			macs = append(macs, i.MACAddress)
		}
	}
	err = t.StoreInspection(ctx, inventory, plugins, macs, func(n *conductor.Node) {
		if found.Power != states.NoPower {
			n.Power = found.Power
		}
		n.Properties = properties(n.Properties)
	})
	switch {
	case err != nil && len(found.Interfaces) == 0:
		return errors.Join(err, incomplete) // which may be why there is none
	case err != nil:
		return err
	default:
		return failure
	}
}

// devicesSince is the first series with the PCI devices and the LLDP data of a Redfish inspection.
//
// Source: ironic/drivers/modules/redfish/inspect.py of Ironic 34.0.0.
const devicesSince = states.Gazpacho

// controllersSince is the first series with the storage controllers in the inventory of a Redfish inspection.
//
// Source: the release note storage-controller-inspection-a49ccdec488b79f9.
const controllersSince = states.Gazpacho

// inventory returns an inventory as it is stored, with the PCI devices; the plugin data, which have the LLDP data; and
// why some of these could not be read, with the reason why the inventory itself is incomplete.
func (b redfishInspect) inventory(ctx context.Context, t *conductor.Task, found bmc.Inventory, incomplete error) (
	inventory, plugins map[string]any, unread, err error,
) {
	stored := struct {
		bmc.Inventory
		PCIDevices []bmc.PCIDevice `json:"pci_devices,omitzero"`
	}{Inventory: found}
	if t.Series() < controllersSince {
		stored.StorageControllers = nil
	}
	var data struct {
		LLDP map[string]bmc.Neighbor `json:"parsed_lldp,omitempty"`
	}
	if t.Series() >= devicesSince && !bmc.RefusedAtLogin(incomplete) {
		stored.PCIDevices, unread = ask(ctx, b.bmcs, t.Node(), (*bmc.Driver).PCIDevices)
		if !bmc.RefusedAtLogin(unread) && (len(stored.PCIDevices) > 0 || !verify.LoginRefused(unread)) {
			data.LLDP, err = ask(ctx, b.bmcs, t.Node(), (*bmc.Driver).Neighbors)
			unread = errors.Join(unread, err)
		}
	}
	unread = errors.Join(incomplete, unread)
	inventory, err = asMap(stored)
	if err == nil {
		plugins, err = asMap(data)
	}
	return inventory, plugins, unread, errors.Join(err, ctx.Err())
}

// inspectedProperties returns the properties of a node after an inspection: memory_mb, text before
// 2023.2; cpus, before 2025.2; cpu_arch; local_gb, text before 2026.1; and the capability boot_mode, unless the node
// has it. A complete inventory without a drive means a machine without disks, whose local_gb is 0.
func inspectedProperties(series states.Series, before map[string]any, found bmc.Inventory, complete bool) map[string]any {
	properties := maps.Clone(before)
	if properties == nil {
		properties = map[string]any{}
	}
	set := func(key string, value int, textBefore states.Series) {
		properties[key] = value
		if series < textBefore {
			properties[key] = strconv.Itoa(value)
		}
	}
	if found.Memory.PhysicalMB > 0 {
		set("memory_mb", found.Memory.PhysicalMB, states.Bobcat)
	}
	if found.CPU.Count > 0 && series < states.Flamingo {
		properties["cpus"] = found.CPU.Count
	}
	if found.CPU.Architecture != "" {
		properties["cpu_arch"] = found.CPU.Architecture
	}
	if found.LocalGB > 0 || complete {
		set("local_gb", found.LocalGB, states.Gazpacho)
	}
	if mode := found.Boot.CurrentBootMode; mode != "" {
		properties["capabilities"] = withCapability(properties["capabilities"], "boot_mode", mode)
	}
	return properties
}

// withCapability returns capabilities, a text such as "a:1,b:2", with one more unless they have it. It does not change
// a value that is no text.
func withCapability(capabilities any, name, value string) any {
	text, ok := capabilities.(string)
	if !ok && capabilities != nil {
		return capabilities
	}
	for _, capability := range strings.Split(text, ",") {
		if key, has, _ := strings.Cut(capability, ":"); strings.TrimSpace(key) == name && has != "" {
			return capabilities
		}
	}
	return strings.TrimPrefix(text+","+name+":"+value, ",")
}

// missingProperties returns the properties that an inspection must find and the node lacks, sorted. A BMC that reports
// neither memory nor processors has found nothing, whatever the node has.
//
// Source: ESSENTIAL_PROPERTIES in ironic/drivers/base.py. The architecture hook, since 2025.2, accepts an unknown one.
func missingProperties(series states.Series, properties map[string]any, found bmc.Inventory) []string {
	essential := []string{"cpu_arch", "cpus", "memory_mb"}
	switch {
	case found.Memory.PhysicalMB == 0 && found.CPU.Count == 0:
		return essential
	case series >= states.Flamingo:
		essential = []string{"memory_mb"}
	case series >= states.Bobcat:
		essential = []string{"cpu_arch", "memory_mb"}
	}
	return slices.DeleteFunc(essential, func(key string) bool { return properties[key] != nil })
}

// asMap returns a value as JSON has it.
func asMap(value any) (object map[string]any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return object, exactjson.Unmarshal(text, &object)
}
