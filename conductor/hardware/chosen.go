// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// kinds are the kinds of interfaces of which a hardware type has lists, with the interfaces that [New] gives a hardware
// type whose list is empty. Steps are in this order. A kind is a field of Interfaces, one of Chosen, and a row here.
var kinds = []kind{
	kindOf("power", func(i *Interfaces) *[]Power { return &i.Power }, func(c *Chosen) *Power { return &c.Power }),
	kindOf("management", func(i *Interfaces) *[]Management { return &i.Management },
		func(c *Chosen) *Management { return &c.Management }),
	kindOf("boot", func(i *Interfaces) *[]Boot { return &i.Boot }, func(c *Chosen) *Boot { return &c.Boot }, IPXE(), PXE()),
	kindOf("inspect", func(i *Interfaces) *[]Interface { return &i.Inspect }, func(c *Chosen) *Interface { return &c.Inspect },
		AgentInspect(), None("inspect")),
	kindOf("bios", func(i *Interfaces) *[]Interface { return &i.BIOS }, func(c *Chosen) *Interface { return &c.BIOS }, None("bios")),
	kindOf("raid", func(i *Interfaces) *[]Interface { return &i.RAID }, func(c *Chosen) *Interface { return &c.RAID },
		None("raid"), Interface(stored("agent"))),
	kindOf("rescue", func(i *Interfaces) *[]Interface { return &i.Rescue }, func(c *Chosen) *Interface { return &c.Rescue },
		None("rescue"), AgentRescue()),
	kindOf("vendor", func(i *Interfaces) *[]Interface { return &i.Vendor }, func(c *Chosen) *Interface { return &c.Vendor },
		None("vendor")),
	kindOf("firmware", func(i *Interfaces) *[]Interface { return &i.Firmware }, func(c *Chosen) *Interface { return &c.Firmware },
		None("firmware")),
	kindOf("deploy", func(i *Interfaces) *[]Deploy { return &i.Deploy }, func(c *Chosen) *Deploy { return &c.Deploy },
		Direct(), Ramdisk(), CustomAgent()),
}

// kind is a kind of interfaces.
type kind struct {
	name string
	// list returns the interfaces of the kind that a hardware type has.
	list func(Interfaces) []Interface
	// fill sets the defaults of the kind if it is empty.
	fill func(*Interfaces)
	// choose stores the interface with this name, or the first one if the name is empty or unknown. It reports whether the
	// name is known.
	choose func(i Interfaces, name string, c *Chosen) bool
	// chosen returns the interface that choose has stored.
	chosen func(Chosen) Interface
}

func kindOf[I Interface](name string, list func(*Interfaces) *[]I, chosen func(*Chosen) *I, defaults ...I) kind {
	return kind{
		name: name,
		list: func(i Interfaces) []Interface {
			var all []Interface
			for _, each := range *list(&i) {
				all = append(all, each)
			}
			return all
		},
		fill: func(i *Interfaces) {
			if l := list(i); len(*l) == 0 {
				*l = slices.Clone(defaults)
			}
		},
		choose: func(i Interfaces, name string, c *Chosen) bool {
			all := *list(&i)
			n := slices.IndexFunc(all, func(each I) bool { return each.Name() == name })
			*chosen(c) = all[max(n, 0)]
			return n >= 0 || name == ""
		},
		chosen: func(c Chosen) Interface { return *chosen(&c) },
	}
}

// withDefaults fills in the kinds that are empty.
func (i Interfaces) withDefaults() Interfaces {
	for _, kind := range kinds {
		kind.fill(&i)
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
	c := Chosen{config: config}
	var unknown error
	for _, kind := range kinds {
		if name := n.Interfaces[kind.name]; !kind.choose(i, name, &c) && unknown == nil {
			unknown = &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf(
				"Node %s has the %s interface %s, which its driver %s does not have", n.UUID, kind.name, name, n.Driver)}
		}
	}
	return c, unknown
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
// that request fails unless the agent has the step, and the interface is "agent" or the work a service.
type stored string

func (i stored) Name() string                { return string(i) }
func (stored) Properties() map[string]string { return nil }
func (stored) Validate(Node) error           { return nil }
