package conductor

import (
	"maps"

	"github.com/ironstate/ironstate/states"
)

// Interface returns the node's hardware interface of a kind such as "power": the one in its
// record, or else the default of the hardware type. It is empty if the hardware type has no
// interface of the kind.
func (d Description) Interface(n *Node, kind string) string {
	if name := n.Interfaces[kind]; name != "" {
		return name
	}
	if names := d.Interfaces[kind]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// lacks reports whether the node has the interface "no-KIND", which has no function.
func (d Description) lacks(n *Node, kind string) bool { return d.Interface(n, kind) == "no-"+kind }

// description returns the description of a node's hardware type.
func (c *Conductor) description(n *Node) Description { return c.described[n.Driver] }

// validate returns the validation of a node by its hardware type. An interface that the node lacks
// is invalid.
func (c *Conductor) validate(hardware Hardware, n *Node) map[string]error {
	problems, d := map[string]error{}, c.description(n)
	maps.Copy(problems, hardware.Validate(n))
	for kind := range d.Interfaces {
		if kind != "vendor" && d.lacks(n, kind) {
			problems[kind] = unsupported(n, kind)
		}
	}
	return problems
}

// unsupported refuses a function of a hardware interface that the node lacks.
func unsupported(n *Node, function string) *Error {
	return refuse(Unsupported, "Driver %s does not support %s (disabled or not implemented).", n.Driver, function)
}

// stepsFor returns the steps of a node's hardware type for the work of a state, without those of
// interfaces that the node lacks.
func (c *Conductor) stepsFor(hardware Hardware, n *Node, work states.State) []Step {
	d := c.description(n)
	var steps []Step
	for _, step := range hardware.Steps(n, work) {
		if !d.lacks(n, step.Interface) {
			steps = append(steps, step)
		}
	}
	return steps
}

// vendor returns the vendor passthru methods of a node, nil if it has none.
func (c *Conductor) vendor(hardware Hardware, n *Node) VendorPassthru {
	if v, ok := hardware.(VendorPassthru); ok && !c.description(n).lacks(n, "vendor") {
		return v
	}
	return nil
}
