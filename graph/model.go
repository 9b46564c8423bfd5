// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A model is a checked diagram, with its rows filtered and merged into edges: the input of every format's writer.
type model struct {
	diagram     Diagram
	title       string
	description string
	groups      []group
	rows        []row
	edges       []edge // the rows, merged by their two states
	hidden      []edge // the edges that RequestsOnly leaves out
}

// A group has the states of a partLayout that a diagram shows. They are in a box with the part's title, unless the
// diagram has one of them alone or they are not of its Part.
type group struct {
	part   Part   // "" for no box, as for the states between parts
	corner string // the corner that has the title
	nodes  []node
}

type node struct {
	state       states.State
	phase       states.Phase
	stable      bool
	change      change
	current     bool
	taken       bool   // the state is on the path
	description string // a single line if own is set
	own         bool   // the description comes from Diagram.Describe
	tooltip     string
	link        string
}

// An edge has all transitions from one state to another.
type edge struct {
	from, to states.State
	rows     []row
}

// A row is a transition in a diagram.
type row struct {
	states.Transition
	cause  cause
	change change
	taken  bool // the transition is on the path
}

// A change compares a state or transition with the older series.
type change string

const (
	kept    change = ""
	added   change = "added"
	removed change = "removed"
)

// write checks the diagram, and calls format with the diagram's model.
func (d Diagram) write(format func(*model) error) error {
	m, err := d.model()
	if err != nil {
		return err
	}
	return format(m)
}

// States returns the states that the diagram shows, or the error of its writers.
func (d Diagram) States() (states.Set, error) {
	m, err := d.model()
	if err != nil {
		return states.Set{}, err
	}
	return m.states(), nil
}

// model checks the diagram and returns its model.
func (d Diagram) model() (*model, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	rows := d.rows()
	shown := d.states()
	if d.From != states.NoState {
		shown = reachable(rows, d.From)
	}
	if d.Only.Len() > 0 {
		shown = shown.Intersect(d.Only)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return !shown.Has(r.From) || !shown.Has(r.To)
	})
	if d.Part != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool { return partOf(r.From) != d.Part && partOf(r.To) != d.Part })
		shown = shown.Intersect(around(d.Part, rows))
	}
	edges, hidden := merge(rows), []edge(nil)
	if d.RequestsOnly {
		rows = slices.DeleteFunc(rows, func(r row) bool { return r.cause == conductor })
		hidden = slices.DeleteFunc(edges, func(e edge) bool { return len(e.with(conductor)) < len(e.rows) })
		edges = merge(rows)
	}

	m := &model{diagram: d, rows: rows, edges: edges, hidden: hidden}
	for _, l := range d.layout().allParts() {
		g := group{part: l.Part, corner: l.Corner}
		for _, s := range l.all() {
			if !shown.Has(s) {
				continue
			}
			n, err := d.node(s)
			if err != nil {
				return nil, err
			}
			g.nodes = append(g.nodes, n)
		}
		if len(g.nodes) == 0 {
			continue
		}
		if len(g.nodes) == 1 || d.Part != "" && g.part != d.Part { // a box around one state says nothing
			g.part, g.corner = "", ""
		}
		m.groups = append(m.groups, g)
	}
	m.title, m.description = d.heading(), d.summary(m)
	return m, nil
}

// states returns the states of all groups.
func (m *model) states() (all states.Set) {
	for _, n := range m.nodes() {
		all = all.Union(states.SetOf(n.state))
	}
	return all
}

// nodes returns the drawings of the states of all groups, in Ironic's order.
func (m *model) nodes() []node {
	var nodes []node
	for _, g := range m.groups {
		nodes = append(nodes, g.nodes...)
	}
	slices.SortFunc(nodes, func(a, b node) int { return int(a.state) - int(b.state) })
	return nodes
}

// rows returns the transitions of both tables, the newer table first.
func (d Diagram) rows() []row {
	var rows []row
	for t := range d.Table.Transitions() {
		change := kept
		if d.Since != nil && !has(d.Since, t) {
			change = added
		}
		rows = append(rows, row{t, causeOf(d.Table, t), change, slices.Contains(d.Path, t)})
	}
	for t := range d.Since.Transitions() {
		if !has(d.Table, t) {
			rows = append(rows, row{t, causeOf(d.Since, t), removed, slices.Contains(d.Path, t)})
		}
	}
	return rows
}

// reachable returns the states that can be reached from a state by rows, the state itself included.
func reachable(rows []row, from states.State) states.Set {
	seen := states.SetOf(from)
	for size := 0; size != seen.Len(); {
		size = seen.Len()
		for _, r := range rows {
			if seen.Has(r.From) {
				seen = seen.Union(states.SetOf(r.To))
			}
		}
	}
	return seen
}

// around returns the states of a part, and the states that the rows join.
func around(part Part, rows []row) states.Set {
	var set states.Set
	for s := range states.AllStates() {
		if partOf(s) == part || slices.ContainsFunc(rows, func(r row) bool { return r.From == s || r.To == s }) {
			set = set.Union(states.SetOf(s))
		}
	}
	return set
}

// merge joins the rows between the same two states into an edge. The edges are in the order of their first rows.
func merge(rows []row) []edge {
	var edges []edge
	for _, r := range rows {
		i := slices.IndexFunc(edges, func(e edge) bool { return e.from == r.From && e.to == r.To })
		if i < 0 {
			i = len(edges)
			edges = append(edges, edge{from: r.From, to: r.To})
		}
		edges[i].rows = append(edges[i].rows, r)
	}
	return edges
}

// boxed reports whether a state is drawn in the box of its part.
func (m *model) boxed(s states.State) bool {
	return slices.ContainsFunc(m.groups, func(g group) bool {
		return g.part != "" && slices.ContainsFunc(g.nodes, func(n node) bool { return n.state == s })
	})
}

// node returns the drawing of a state.
func (d Diagram) node(s states.State) (node, error) {
	link, err := d.link(s)
	if err != nil {
		return node{}, err
	}
	t, c := d.Table, kept
	switch {
	case !d.Table.States().Has(s):
		t, c = d.Since, removed
	case d.Since != nil && !d.Since.States().Has(s):
		c = added
	}
	description, own := d.stateText(s)
	return node{
		state:       s,
		phase:       t.Phase(s),
		stable:      t.Stable().Has(s),
		change:      c,
		current:     s == d.Current,
		taken:       slices.ContainsFunc(d.Path, func(step states.Transition) bool { return step.From == s || step.To == s }),
		description: description,
		own:         own,
		tooltip:     d.tooltip(t, s),
		link:        link,
	}, nil
}

// change returns the change that all rows of the edge share, or kept if they differ.
func (e edge) change() change {
	for _, r := range e.rows {
		if r.change != e.rows[0].change {
			return kept
		}
	}
	return e.rows[0].change
}

// requested reports whether a request of the API causes any row of the edge.
func (e edge) requested() bool {
	return slices.ContainsFunc(e.rows, func(r row) bool { return r.cause == request })
}

func (e edge) taken() bool {
	return slices.ContainsFunc(e.rows, func(r row) bool { return r.taken })
}

// with returns the edge's rows that have the cause.
func (e edge) with(c cause) []row {
	return slices.DeleteFunc(slices.Clone(e.rows), func(r row) bool { return r.cause != c })
}

// word returns the row's word in a label: the API's verb if there is one, otherwise the event's name.
func (r row) word() string { return cmp.Or(r.verb(), r.Event.String()) }

// verb returns the API's verb for the row, empty if the conductor alone causes it.
func (r row) verb() string {
	if r.cause == conductor {
		return ""
	}
	return r.Event.Verb()
}
