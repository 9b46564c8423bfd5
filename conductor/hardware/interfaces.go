// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"maps"

	"github.com/ironstate/ironstate/conductor"
)

// interfaces returns the hardware interfaces of all hardware types, overridden by those given.
// The RAID interfaces "agent" and "redfish", which clients choose for nodes that need no RAID, store
// target_raid_config and have no steps: no RAID is made until a step for it is requested, and that
// request fails.
func interfaces(of map[string][]string) map[string][]string {
	all := map[string][]string{
		"bios": {"no-bios"}, "boot": {"ipxe", "pxe"}, "console": {"no-console"}, "deploy": {direct, ramdisk, customAgent},
		"firmware": {"no-firmware"}, "network": {"noop"}, "raid": {"no-raid", "agent"}, "rescue": {"no-rescue", "agent"},
		"storage": {"noop"}, "vendor": {"no-vendor"},
	}
	maps.Copy(all, of)
	return all
}

// chosen returns the node's interface of a kind, or the default.
func (b *Type) chosen(n *conductor.Node, kind string) string {
	return conductor.Description{Interfaces: b.interfaces}.Interface(n, kind)
}

// Validate implements [conductor.Hardware].
func (b *Type) Validate(n *conductor.Node) map[string]error {
	_, _, power := b.verifier(n)
	if b.usable(n) != nil {
		return map[string]error{"power": power}
	}
	result := map[string]error{
		"power": power, "management": power, "inspect": power, "deploy": b.validateDeploy(n),
		"boot": b.boot(n).validate(n), "network": nil, "storage": nil, "rescue": b.boot(n).validate(n),
	}
	if power == nil && b.chosen(n, "inspect") == agentInspection {
		switch boot := b.boot(n).(type) {
		case mediaBoot:
			_, result["inspect"] = boot.agentMedium(n)
		case scriptBoot:
			_, result["inspect"] = boot.agentMedium(n)
		}
	}
	if b.chosen(n, "management") == "noop" {
		result["management"] = nil
	}
	for kind := range b.interfaces {
		if kind == "bios" || kind == "firmware" {
			result[kind] = power
		}
		if b.chosen(n, kind) == "no-"+kind && kind != "vendor" {
			result[kind] = &conductor.Error{Reason: conductor.Unsupported,
				Text: fmt.Sprintf("Driver %s does not support %s (disabled or not implemented).", n.Driver, kind)}
		}
	}
	return result
}
