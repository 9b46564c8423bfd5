// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Diagram describes a drawing. Only Table must be set: the methods of a zero Diagram return a [*machine.StateError]. A
// Diagram is a value: copies are independent, and goroutines may share one if they may share its functions.
type Diagram struct {
	// Table is the series' machine.
	Table *states.Table
	// Since is the machine of an older series to compare with. States and transitions that are new since then are green,
	// removed ones are red. A newer series is an error.
	Since *states.Table
	// From leaves out the states that cannot be reached from this one.
	From states.State
	// Only leaves out all other states, unless it is empty.
	Only states.Set
	// Part leaves out all but a part of a node's life, such as [PartCleaning], and the
	// states next to it. Transitions between two states next to it are left out too.
	Part Part
	// RequestsOnly leaves out the transitions that the conductor alone fires. The states stay.
	RequestsOnly bool

	// Current is a state to highlight, such as a node's current one.
	Current states.State
	// Path is a sequence of transitions to highlight, such as a node's history. [Through] makes one from states.
	Path []states.Transition

	// Title is the heading. An empty one is replaced by one that names the series.
	Title string
	// Description is the text alternative for readers who do not see the diagram. An empty one is replaced by a summary.
	Description string
	// Describe returns the description of a state. It is also the state's tooltip, and
	// screen readers read it. If it is nil or returns an empty text, the description is
	// [states.State.Description], and the tooltip begins with its first paragraph.
	Describe func(states.State) string
	// Link returns the address that a state links to: a path, or an http or https URL. An empty address is no link, any
	// other is an error. Mermaid has no links; in Markdown the heading of the state's section is the link.
	Link func(states.State) string

	// Picture is the address of a picture of the diagram, which WriteMarkdown links in
	// place of the Mermaid diagram: a path, or an http or https URL.
	Picture string

	// LeftToRight lays the diagram out from left to right instead of from top to bottom.
	LeftToRight bool
	// Dark selects the colours for pages with a dark background.
	Dark bool
	// NoLegend leaves out the legend.
	NoLegend bool
}

// palette returns the colours of the diagram.
func (d Diagram) palette() palette {
	if d.Dark {
		return dark
	}
	return light
}

// layout returns the layout of the diagram. From top to bottom, older machines have layouts
// of their own, since they have fewer states.
func (d Diagram) layout() *layout {
	switch series := d.Table.Series(); {
	case d.LeftToRight:
		return layouts()["leftToRight"]
	case series < states.Bobcat:
		return layouts()["early"]
	case series < states.Flamingo:
		return layouts()["middle"]
	default:
		return layouts()["topDown"]
	}
}

// direction returns Graphviz's and Mermaid's word for the direction of the diagram.
func (d Diagram) direction() string {
	if d.LeftToRight {
		return "LR"
	}
	return "TB"
}

// Caption returns the title and the description that all formats use: the Diagram's
// own, or the defaults for empty ones. It returns the errors of [Diagram.WriteDOT].
func (d Diagram) Caption() (title, description string, err error) {
	m, err := d.model()
	if err != nil {
		return "", "", err
	}
	return m.title, m.description, nil
}

// check returns an error unless every field is valid.
func (d Diagram) check() error {
	switch {
	case d.Table.States().Len() == 0:
		return &machine.StateError{State: d.Current}
	case d.Since.Series() > d.Table.Series():
		return fmt.Errorf("not an older series: what changed since %v cannot be shown in %v; exchange the two",
			d.Since.Series(), d.Table.Series())
	}
	if parts := slices.Collect(AllParts()); d.Part != "" && !slices.Contains(parts, d.Part) {
		unknown := &states.UnknownError{Kind: "part", Word: string(d.Part)}
		for _, part := range parts {
			unknown.Known = append(unknown.Known, string(part))
		}
		return unknown
	}
	for _, s := range []states.State{d.From, d.Current} {
		if s != states.NoState && !d.states().Has(s) {
			return &machine.StateError{Series: d.Table.Series(), State: s}
		}
	}
	for _, step := range d.Path {
		if !has(d.Table, step) && !has(d.Since, step) {
			return fmt.Errorf("no such transition: %v in %v", step, d.Table.Series())
		}
	}
	return nil
}

// states returns the states of both tables.
func (d Diagram) states() states.Set { return d.Table.States().Union(d.Since.States()) }

func has(t *states.Table, row states.Transition) bool {
	to, ok := t.Next(row.From, row.Event)
	return ok && to == row.To
}

// link returns the address that a state links to, empty if it has none.
func (d Diagram) link(s states.State) (string, error) {
	if d.Link == nil {
		return "", nil
	}
	address, err := checkLink(d.Link(s))
	if err != nil {
		return "", fmt.Errorf("invalid link of state %q: %w", s, err)
	}
	return address, nil
}

// checkLink returns the address, or an error if it is neither a path nor an http or https URL.
func checkLink(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("%q; links are paths or http and https URLs", address)
	}
	return strings.ToValidUTF8(u.String(), "\uFFFD"), nil
}
