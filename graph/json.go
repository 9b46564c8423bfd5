package graph

import (
	"encoding/json"
	"io"

	"github.com/ironstate/ironstate/states"
)

// WriteJSON writes the diagram as JSON for other tools: the states in Ironic's
// order, and each transition on its own in the order of [states.Table.Transitions].
// States and transitions have the keys change ("added", "removed"), current, taken
// and link only where these apply. The errors are those of [Diagram.WriteDOT].
func (d Diagram) WriteJSON(w io.Writer) error {
	return d.write(w, func(m *model) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(m.json())
	})
}

type jsonDiagram struct {
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Series      states.Series    `json:"series"`
	Since       states.Series    `json:"since"`
	APIVersion  string           `json:"api_version"`
	States      []jsonState      `json:"states"`
	Transitions []jsonTransition `json:"transitions"`
}

type jsonState struct {
	State       states.State `json:"state"`
	Part        string       `json:"part"`
	Phase       states.Phase `json:"phase"`
	Stable      bool         `json:"stable"`
	Target      states.State `json:"target"`
	Description string       `json:"description"`
	Link        string       `json:"link,omitempty"`
	Change      string       `json:"change,omitempty"`
	Current     bool         `json:"current,omitempty"`
	Taken       bool         `json:"taken,omitempty"`
}

// Verb is the API's word for the transition, null where the API takes none.
type jsonTransition struct {
	From   states.State `json:"from"`
	Event  states.Event `json:"event"`
	To     states.State `json:"to"`
	Cause  string       `json:"cause"`
	Verb   *string      `json:"verb"`
	Change string       `json:"change,omitempty"`
	Taken  bool         `json:"taken,omitempty"`
}

func (m *model) json() jsonDiagram {
	t := m.diagram.Table
	doc := jsonDiagram{
		Title:       m.title,
		Description: m.description,
		Series:      t.Series(),
		Since:       m.diagram.Since.Series(),
		APIVersion:  t.Series().MaxAPIVersion().String(),
		States:      []jsonState{},
		Transitions: []jsonTransition{},
	}
	for _, n := range m.nodes() {
		doc.States = append(doc.States, n.json(m.diagram))
	}
	for _, r := range m.rows {
		doc.Transitions = append(doc.Transitions, r.json())
	}
	return doc
}

func (n node) json(d Diagram) jsonState {
	t := d.Table
	if n.change == removed {
		t = d.Since
	}
	return jsonState{
		State:       n.state,
		Part:        partOf(n.state),
		Phase:       n.phase,
		Stable:      n.stable,
		Target:      t.Target(n.state),
		Description: n.description,
		Link:        n.link,
		Change:      string(n.change),
		Current:     n.current,
		Taken:       n.taken,
	}
}

func (r row) json() jsonTransition {
	j := jsonTransition{
		From:   r.From,
		Event:  r.Event,
		To:     r.To,
		Cause:  string(r.cause),
		Change: string(r.change),
		Taken:  r.taken,
	}
	if verb := r.Event.Verb(); r.cause != conductor {
		j.Verb = &verb
	}
	return j
}
