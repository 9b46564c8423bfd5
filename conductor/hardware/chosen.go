// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/machine"
)

// kinds returns the kinds of interfaces of which a hardware type has lists, in the order of their steps. A new kind
// needs a field of Interfaces with its defaults in withDefaults, a field of Chosen, and a row here.
func (i *Interfaces) kinds(c *Chosen) []kind {
	return []kind{
		kindOf[Power]{"power", &i.Power, &c.Power},
		kindOf[Management]{"management", &i.Management, &c.Management},
		kindOf[Boot]{"boot", &i.Boot, &c.Boot},
		kindOf[Interface]{"inspect", &i.Inspect, &c.Inspect},
		kindOf[Interface]{"bios", &i.BIOS, &c.BIOS},
		kindOf[Interface]{"raid", &i.RAID, &c.RAID},
		kindOf[Interface]{"rescue", &i.Rescue, &c.Rescue},
		kindOf[Interface]{"vendor", &i.Vendor, &c.Vendor},
		kindOf[Interface]{"firmware", &i.Firmware, &c.Firmware},
		kindOf[Deploy]{"deploy", &i.Deploy, &c.Deploy},
	}
}

// withDefaults fills in the kinds that are empty.
func (i Interfaces) withDefaults() Interfaces {
	fill(&i.Boot, IPXE(), PXE())
	fill(&i.Deploy, Direct(), Ramdisk(), CustomAgent())
	fill(&i.Inspect, AgentInspect(), None("inspect"))
	fill(&i.BIOS, None("bios"))
	fill(&i.RAID, None("raid"), AgentRAID())
	fill(&i.Rescue, None("rescue"), AgentRescue())
	fill(&i.Vendor, None("vendor"))
	fill(&i.Firmware, None("firmware"))
	return i
}

func fill[I Interface](list *[]I, defaults ...I) {
	if len(*list) == 0 {
		*list = defaults
	}
}

// kind is a kind of interfaces.
type kind interface {
	Name() string
	// list returns the interfaces of the kind that the hardware type has.
	list() []Interface
	// choose stores the interface with this name, or the first one if the name is empty or unknown. It reports whether the
	// name is known.
	choose(name string) bool
	// chosen returns the interface that is stored.
	chosen() Interface
}

// kindOf is a kind whose interfaces are of the type I: its name, the list of a hardware type, and the choice of a node.
type kindOf[I Interface] struct {
	name   string
	all    *[]I
	choice *I
}

func (k kindOf[I]) Name() string { return k.name }

func (k kindOf[I]) list() (list []Interface) {
	for _, each := range *k.all {
		list = append(list, each)
	}
	return list
}

func (k kindOf[I]) choose(name string) bool {
	n := slices.IndexFunc(*k.all, func(each I) bool { return each.Name() == name })
	*k.choice = (*k.all)[max(n, 0)]
	return n >= 0 || name == ""
}

func (k kindOf[I]) chosen() Interface { return *k.choice }

// check returns an error for a kind without an interface, and for an interface without a valid name of its own.
func (i *Interfaces) check() error {
	for _, kind := range i.kinds(new(Chosen)) {
		list := kind.list()
		invalid := func(value any, want string) error {
			return &machine.ConfigError{Package: "hardware", Field: "Interfaces", Value: value, Want: want}
		}
		if len(list) == 0 {
			return invalid("none", "an interface of the kind "+kind.Name())
		}
		names := map[string]bool{}
		for _, each := range list {
			switch {
			case each == nil:
				return invalid("nil", "an interface of the kind "+kind.Name())
			case each.Name() == "" || names[each.Name()]:
				return invalid(each.Name(), "a name of its own for each interface of the kind "+kind.Name())
			}
			names[each.Name()] = true
		}
	}
	if err := kinds.Check(i.names()); err != nil {
		return &machine.ConfigError{Package: "hardware", Field: "Interfaces", Err: err}
	}
	return nil
}

// names returns the names of the interfaces by kind, with the kinds that all hardware types have alike.
func (i *Interfaces) names() map[string][]string {
	names := map[string][]string{"console": {"no-console"}, "network": {"noop"}, "storage": {"noop"}}
	for _, kind := range i.kinds(new(Chosen)) {
		for _, each := range kind.list() {
			names[kind.Name()] = append(names[kind.Name()], each.Name())
		}
	}
	return names
}

// choose returns the interfaces that a node has chosen. An interface that the hardware type does not have is an error.
func (i *Interfaces) choose(n *conductor.Node) (c Chosen, unknown error) {
	for _, kind := range i.kinds(&c) {
		if name := n.Interfaces[kind.Name()]; !kind.choose(name) && unknown == nil {
			unknown = invalidf("Node %s has the %s interface %s, which its driver %s does not have", n.UUID, kind.Name(), name, n.Driver)
		}
	}
	return c, unknown
}
