// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// kinds are the kinds of interfaces of which a hardware type has lists, in the order of their steps.
var kinds = []struct {
	name   string
	list   func(Interfaces) []Interface
	chosen func(Chosen) Interface
}{
	{"power", func(i Interfaces) []Interface { return common(i.Power) }, func(c Chosen) Interface { return c.Power }},
	{"management", func(i Interfaces) []Interface { return common(i.Management) }, func(c Chosen) Interface { return c.Management }},
	{"boot", func(i Interfaces) []Interface { return common(i.Boot) }, func(c Chosen) Interface { return c.Boot }},
	{"inspect", func(i Interfaces) []Interface { return i.Inspect }, func(c Chosen) Interface { return c.Inspect }},
	{"bios", func(i Interfaces) []Interface { return i.BIOS }, func(c Chosen) Interface { return c.BIOS }},
	{"raid", func(i Interfaces) []Interface { return i.RAID }, func(c Chosen) Interface { return c.RAID }},
	{"rescue", func(i Interfaces) []Interface { return i.Rescue }, func(c Chosen) Interface { return c.Rescue }},
	{"vendor", func(i Interfaces) []Interface { return i.Vendor }, func(c Chosen) Interface { return c.Vendor }},
	{"firmware", func(i Interfaces) []Interface { return i.Firmware }, func(c Chosen) Interface { return c.Firmware }},
	{"deploy", func(i Interfaces) []Interface { return common(i.Deploy) }, func(c Chosen) Interface { return c.Deploy }},
}

// common returns the interfaces of a kind.
func common[I Interface](list []I) []Interface {
	all := make([]Interface, len(list))
	for i, each := range list {
		all[i] = each
	}
	return all
}

// withDefaults fills in the kinds that are empty.
func (i Interfaces) withDefaults() Interfaces {
	if len(i.Boot) == 0 {
		i.Boot = []Boot{IPXE(), PXE()}
	}
	if len(i.Deploy) == 0 {
		i.Deploy = []Deploy{Direct(), Ramdisk(), CustomAgent()}
	}
	for kind, list := range map[*[]Interface][]Interface{
		&i.Inspect: {AgentInspect(), None("inspect")}, &i.BIOS: {None("bios")}, &i.RAID: {None("raid"), stored("agent")},
		&i.Rescue: {None("rescue"), AgentRescue()}, &i.Vendor: {None("vendor")}, &i.Firmware: {None("firmware")},
	} {
		if len(*kind) == 0 {
			*kind = list
		}
	}
	return i
}

// check returns an error for a kind without an interface, and for an interface without a name of its own.
func (i Interfaces) check() error {
	for _, kind := range kinds {
		list := kind.list(i)
		invalid := func(value any, want string) error {
			return &conductor.ConfigError{Package: "hardware", Field: "Interfaces", Value: value, Want: want}
		}
		if len(list) == 0 {
			return invalid("none", "an interface of the kind "+kind.name)
		}
		names := map[string]bool{}
		for _, each := range list {
			switch {
			case each == nil:
				return invalid("nil", "an interface of the kind "+kind.name)
			case each.Name() == "" || names[each.Name()]:
				return invalid(each.Name(), "a name of its own for each interface of the kind "+kind.name)
			}
			names[each.Name()] = true
		}
	}
	return nil
}

// names returns the names of the interfaces by kind, with the kinds that all hardware types have alike.
func (i Interfaces) names() map[string][]string {
	names := map[string][]string{"console": {"no-console"}, "network": {"noop"}, "storage": {"noop"}}
	for _, kind := range kinds {
		for _, each := range kind.list(i) {
			names[kind.name] = append(names[kind.name], each.Name())
		}
	}
	return names
}

// choose returns the interfaces that a node has chosen. An interface that the hardware type does not have is an error.
func (i Interfaces) choose(n *conductor.Node, config *Config) (Chosen, error) {
	c := chooser{node: n}
	return Chosen{
		Power: choose(&c, "power", i.Power), Management: choose(&c, "management", i.Management), Boot: choose(&c, "boot", i.Boot),
		Deploy: choose(&c, "deploy", i.Deploy), Inspect: choose(&c, "inspect", i.Inspect), BIOS: choose(&c, "bios", i.BIOS),
		RAID: choose(&c, "raid", i.RAID), Rescue: choose(&c, "rescue", i.Rescue), Vendor: choose(&c, "vendor", i.Vendor),
		Firmware: choose(&c, "firmware", i.Firmware), config: config,
	}, c.err
}

// chooser holds the first error of a choice.
type chooser struct {
	node *conductor.Node
	err  error
}

func choose[I Interface](c *chooser, kind string, list []I) I {
	name := c.node.Interfaces[kind]
	if name == "" {
		return list[0]
	}
	i := slices.IndexFunc(list, func(each I) bool { return each.Name() == name })
	if i < 0 {
		if c.err == nil {
			c.err = &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
				"Node %s has the %s interface %s, which its driver %s does not have", c.node.UUID, kind, name, c.node.Driver)}
		}
		return list[0]
	}
	return list[i]
}

// None returns the interface "no-KIND", which refuses the functions of its kind.
func None(kind string) Interface { return none{kind} }

type none struct{ kind string }

func (i none) Name() string                { return "no-" + i.kind }
func (none) Properties() map[string]string { return nil }
func (i none) Validate(n Node) error {
	return &conductor.Error{Reason: conductor.Unsupported, Text: conductor.UnsupportedText(n.Driver, i.kind)}
}

// stored is the name of an interface without a function: the RAID interfaces "agent" and "redfish", which clients
// choose for nodes that need no RAID, store target_raid_config. No RAID is made until a step for it is requested, and
// that request fails unless the agent has the step.
type stored string

func (i stored) Name() string                { return string(i) }
func (stored) Properties() map[string]string { return nil }
func (stored) Validate(Node) error           { return nil }
