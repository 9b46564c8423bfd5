package graph

import "github.com/ironstate/ironstate/graph/internal/draft"

func init() {
	draft.Of = func(d any) (draft.Draft, error) { return d.(Diagram).draft() }
}

// draft returns the diagram for package render, which draws what it says itself.
func (d Diagram) draft() (draft.Draft, error) {
	m, err := d.model()
	if err != nil {
		return draft.Draft{}, err
	}
	elements := make(map[string]draft.Element)
	for _, p := range m.parts {
		if p.title != "" {
			elements[p.id()] = draft.Element{Class: p.class(), Title: p.title}
		}
		for _, n := range p.nodes {
			elements[n.id()] = draft.Element{Class: n.class(), Title: n.description, Link: n.link}
		}
	}
	for _, e := range m.edges {
		elements[e.id()] = draft.Element{Class: e.class(), Title: e.describe()}
	}
	return draft.Draft{DOT: m.dot(bare), Title: m.title, Description: m.description, Elements: elements}, nil
}
