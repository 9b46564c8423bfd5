// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/ironstate/ironstate/internal/abandoned"
	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Interface returns the node's hardware interface of a kind such as "power": the one in its
// record, or else the default of the hardware type. It is empty if the hardware type has no
// interface of the kind.
func (d Description) Interface(n *Node, kind string) string {
	if n.Interfaces[kind] != "" {
		return n.Interfaces[kind]
	}
	if names := d.Interfaces[kind]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// Has reports whether the node has a hardware interface of the kind other than "no-KIND", which has no function.
func (d Description) Has(n *Node, kind string) bool {
	return d.Interface(n, kind) != "" && !d.lacks(n, kind)
}

// lacks reports whether the node has the interface "no-KIND".
func (d Description) lacks(n *Node, kind string) bool {
	return d.Interface(n, kind) == kinds.None(kind)
}

// completed returns the description with the kinds that the hardware type leaves out.
func (d Description) completed() Description {
	all := maps.Clone(d.Interfaces)
	if all == nil {
		all = map[string][]string{}
	}
	for _, kind := range interfaceKinds {
		if name := kinds.Absent(kind); name != "" && len(all[kind]) == 0 {
			all[kind] = []string{name}
		}
	}
	d.Interfaces = all
	return d
}

// descriptions are the descriptions of the hardware types of all members.
type descriptions struct {
	own map[string]Description                 // of this conductor's hardware types, by name
	all atomic.Pointer[map[string]Description] // of the hardware types of all members, by name
}

// hardwareTypes asks the hardware types of this conductor.
type hardwareTypes struct {
	*descriptions
	config *Config
	// unanswered has the calls of this conductor's hardware types that do not return.
	unanswered abandoned.Calls[question]
}

// of returns a node's hardware type.
func (ts *hardwareTypes) of(n *Node) (Hardware, error) {
	hardware, ok := ts.config.Hardware[n.Driver]
	if !ok {
		return nil, noHardware(n)
	}
	return hardware, nil
}

func noHardware(n *Node) error {
	return refuse(Invalid, "no conductor has the hardware type %q of node %s", n.Driver, n.UUID)
}

// describeOwn returns the descriptions of this conductor's hardware types, by name, or a [*machine.ConfigError].
func (ts *hardwareTypes) describeOwn() (map[string]Description, error) {
	descriptions := map[string]Description{}
	for name, hardware := range sorted.All(ts.config.Hardware) {
		d, err := askHardware(context.Background(), ts, &Node{Driver: name}, "its description", hardware.Describe)
		if err == nil {
			err = errors.Join(kinds.Check(d.Interfaces), kinds.CheckNames(d.Unlisted))
		}
		if err != nil {
			return nil, &machine.ConfigError{Package: "conductor", Field: "Hardware", Err: fmt.Errorf("the hardware type %q: %w", name, err)}
		}
		descriptions[name] = d
	}
	return descriptions, nil
}

// Description returns the description of a hardware type that this conductor or another member has.
func (c *Conductor) Description(driver string) (d Description, ok bool) {
	d, ok = (*c.rules.types.all.Load())[driver]
	return d, ok
}

// description returns the description of a node's hardware type.
func (ds *descriptions) description(n *Node) Description {
	return (*ds.all.Load())[n.Driver]
}

// describe updates the descriptions of the hardware types of all members. If several members describe
// a type, the conductor's own description counts, or else the last member's.
func (ds *descriptions) describe(members []Member) {
	all := map[string]Description{}
	for _, m := range members {
		maps.Copy(all, m.Descriptions)
	}
	maps.Copy(all, ds.own)
	for name, d := range all {
		all[name] = d.completed()
	}
	ds.all.Store(&all)
}

// validate returns the validation of a node by its hardware type. An interface that the node lacks
// is invalid, and so is the power interface if the validation panics or hangs.
func (ts *hardwareTypes) validate(ctx context.Context, hardware Hardware, n *Node) map[string]error {
	all := map[string]error{}
	valid, err := askHardware(ctx, ts, n, "the validation of the node", func() map[string]error { return hardware.Validate(n) })
	if err != nil {
		all["power"] = err
	}
	maps.Copy(all, valid)
	if _, err := ts.config.fastTracks(n); err != nil && all["deploy"] == nil {
		all["deploy"] = err
	}
	d := ts.description(n)
	for kind := range d.Interfaces {
		switch _, has := all[kind]; {
		case kind == "vendor":
		case d.lacks(n, kind) && !errors.Is(all[kind], Unsupported):
			all[kind] = unsupported(n, kind)
		case !has && d.Interface(n, kind) == kinds.Absent(kind):
			all[kind] = nil
		}
	}
	return all
}

// unsupported refuses a function of a hardware interface that the node lacks.
func unsupported(n *Node, function string) *Error {
	return refuse(Unsupported, "%s", UnsupportedText(n.Driver, function))
}

// UnsupportedText returns Ironic's text for a function that a hardware type, or the hardware interface of a node with
// it, lacks. The function is a kind of hardware interfaces such as "raid", or a method of Ironic's interfaces.
func UnsupportedText(driver, function string) string {
	return "Driver " + driver + " does not support " + function + " (disabled or not implemented)."
}

// stepsFor returns the steps of a node's hardware type and of its agent for work, without the interfaces that the node
// lacks.
func (ts *hardwareTypes) stepsFor(ctx context.Context, hardware Hardware, n *Node, work states.Work) ([]Step, error) {
	return askHardware(ctx, ts, n, "its steps", func() []Step { return ts.listSteps(hardware, n, work) })
}

// listSteps is stepsFor within askHardware.
func (ts *hardwareTypes) listSteps(hardware Hardware, n *Node, work states.Work) []Step {
	d := ts.description(n)
	var steps []Step
	for _, step := range withInBand(hardware, n, work) {
		if !d.lacks(n, step.Interface) {
			step.Abortable = step.Abortable && ts.config.Table.Series() >= works[work].abort.since
			steps = append(steps, step)
		}
	}
	return steps
}

// vendor returns the vendor passthru methods of a node, nil if it has none.
func (ts *hardwareTypes) vendor(hardware Hardware, n *Node) VendorPassthru {
	if v, ok := hardware.(VendorPassthru); ok && !ts.description(n).lacks(n, "vendor") {
		return v
	}
	return nil
}

// interfaceKinds are the kinds of hardware interfaces in the order in which they are checked.
//
// Source: BareDriver in ironic/drivers/base.py.
var interfaceKinds = []string{
	"boot", "deploy", "management", "network", "power", "bios", "console", "firmware", "inspect", "raid", "rescue", "storage", "vendor",
}
