// SPDX-License-Identifier: Apache-2.0

// Package inspectionhooks has the hooks of inspections: functions that derive the ports of a machine, and the optional
// ones that derive properties, the switches of ports and readable LLDP data from the data of an inspection. They do no
// I/O.
//
// Source: ironic/drivers/modules/inspector/hooks.
package inspectionhooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// Input is the data of an inspection. Hooks do not modify it.
type Input struct {
	Series          states.Series
	Inventory, Data map[string]any // the decoded JSON; Data has what is not part of the inventory
}

// Changes are what hooks have derived.
type Changes struct {
	// Properties are the node's properties to set.
	Properties map[string]any
	// Links are by MAC address what local_link_connection of a port gets if it does not have the key.
	Links map[string]map[string]any
	// Data are to be stored with the data of the inspection.
	Data map[string]any
	// Problems say which data were left out, and why: the first 16, since agents that nobody has authenticated send them.
	Problems []string
}

// hooks are the hooks by Ironic's names, and the first series that has them: Ironic 23.0.0 (2023.2) has the default
// ones alone, and 23.1.0 the others.
var hooks = map[string]struct {
	since states.Series
	run   func(Input, *Changes)
}{
	"accelerators":          {states.Caracal, accelerators},
	"cpus":                  {states.Gazpacho, cpus},
	"local-link-connection": {states.Caracal, localLinks},
	"parse-lldp":            {states.Caracal, parsedLLDP},
}

// Names returns the sorted names of the hooks of a series.
func Names(series states.Series) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		if hooks[name].since <= series {
			names = append(names, name)
		}
	}
	return names
}

// Run runs the hooks with these names, see [Names].
func Run(names []string, in Input) Changes {
	c := Changes{Properties: map[string]any{}, Links: map[string]map[string]any{}, Data: map[string]any{}}
	for _, name := range names {
		hooks[name].run(in, &c)
	}
	return c
}

const maxProblems = 16

// problem notes which data were left out.
func (c *Changes) problem(format string, args ...any) {
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

// cpus sets the property cpus.
func cpus(in Input, c *Changes) {
	cpu, _ := in.Inventory["cpu"].(map[string]any)
	count, err := strconv.Atoi(fmt.Sprint(cpu["count"]))
	if err != nil || count == 0 {
		c.problem("the inventory has no number of CPUs")
		return
	}
	c.Properties["cpus"] = number(count)
}

// known are the accelerators that Ironic's file known_accelerators.yaml has, by vendor and product, and the first
// series that has them.
var known = map[[2]string]struct {
	since      states.Series
	kind, info string
}{
	{"10de", "1eb8"}: {states.Caracal, "GPU", "NVIDIA Corporation Tesla T4"},
	{"10de", "1df6"}: {states.Caracal, "GPU", "NVIDIA Corporation GV100GL"},
	{"10de", "2236"}: {states.Flamingo, "GPU", "NVIDIA Corporation A10"},
	{"10de", "2235"}: {states.Flamingo, "GPU", "NVIDIA Corporation A40"},
	{"10de", "26b9"}: {states.Flamingo, "GPU", "NVIDIA Corporation L40S"},
	{"10de", "26ba"}: {states.Flamingo, "GPU", "NVIDIA Corporation L20"},
}

// accelerators sets the property accelerators to the known ones among the PCI devices that an agent has found, or since
// 2026.2 a BMC, whose numbers begin with 0x: Ironic knows none of these. Since Ironic 32.0.0 (2025.2) a machine without
// any loses those that it had.
func accelerators(in Input, c *Changes) {
	devices, _ := in.Data["pci_devices"].([]any)
	if len(devices) == 0 && in.Series >= states.Hibiscus {
		devices, _ = in.Inventory["pci_devices"].([]any)
	}
	if len(devices) == 0 {
		c.problem("the data have no PCI devices")
		return
	}
	found := []any{}
	for _, item := range devices {
		device, _ := item.(map[string]any)
		vendor, product := pciNumber(device["vendor_id"]), pciNumber(device["product_id"])
		if a, is := known[[2]string{vendor, product}]; is && a.since <= in.Series {
			found = append(found, map[string]any{
				"vendor_id": vendor, "device_id": product, "type": a.kind, "device_info": a.info, "pci_address": device["bus"],
			})
		}
	}
	if len(found) > 0 || in.Series >= states.Flamingo {
		c.Properties["accelerators"] = found
	}
}

// pciNumber returns the number of a vendor or a product in hexadecimal digits, as an agent has it.
func pciNumber(value any) string {
	text, _ := value.(string)
	return strings.TrimPrefix(strings.ToLower(text), "0x")
}

// number returns an integer as decoded JSON has it.
func number[N int | uint16 | uint32](n N) json.Number { return json.Number(fmt.Sprint(n)) }
