package render

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
)

// A drawing is a diagram laid out. Points are in Graphviz's space, whose y grows
// upwards.
type drawing struct {
	item
	parts, edges, states []item
	// Opposite corners of the page.
	low, high point
}

// An item is the graph, a part, a state or an edge: its attributes in the DOT,
// and how to draw it.
type item struct {
	ID, Class            string
	Tooltip, Description text
	URL                  text
	BGColor              string
	Shape                []operation `json:"_draw_"`
	Head                 []operation `json:"_hdraw_"` // an arrow's
	Label                []operation `json:"_ldraw_"`
}

// operations returns all there is to draw.
func (i item) operations() []operation { return slices.Concat(i.Shape, i.Head, i.Label) }

// An operation draws something, or says how to draw what comes after it. Op is a
// letter of Graphviz's xdot format.
type operation struct {
	Op       string
	Color    string
	Style    string
	Size     float64
	FontChar int
	Points   []point
	Pt       point
	Align    string
	Width    float64
	Text     string
}

type point [2]float64

// text is an attribute that package graph has escaped for DOT.
type text string

// UnmarshalJSON undoes the escapes.
func (t *text) UnmarshalJSON(data []byte) error {
	var escaped string
	if err := json.Unmarshal(data, &escaped); err != nil {
		return err
	}
	*t = text(html.UnescapeString(strings.ReplaceAll(escaped, `\\`, `\`)))
	return nil
}

// parseDrawing reads Graphviz's answer, in which parts and states are one list.
func parseDrawing(answer []byte) (*drawing, error) {
	var all struct {
		item
		Objects []item
		Edges   []item
	}
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, fmt.Errorf("%w: read its answer: %w", ErrLayout, err)
	}
	d := &drawing{item: all.item, edges: all.Edges}
	for _, o := range all.Objects {
		switch {
		case strings.HasPrefix(o.Class, "state"):
			d.states = append(d.states, o)
		case strings.HasPrefix(o.Class, "part"):
			d.parts = append(d.parts, o)
		}
	}
	return d, d.measure()
}

// measure finds the page, which is the first thing that the graph draws.
func (d *drawing) measure() error {
	for _, op := range d.Shape {
		if op.Op == "P" && len(op.Points) == 4 {
			d.low, d.high = op.Points[0], op.Points[2]
			d.Shape = nil
			return nil
		}
	}
	return fmt.Errorf("%w: its answer has no page", ErrLayout)
}

func (d *drawing) size() (width, height float64) { return d.high[0] - d.low[0], d.high[1] - d.low[1] }

// place returns a point with the page's upper left corner as the origin, and y
// growing downwards.
func (d *drawing) place(p point) point { return point{p[0] - d.low[0], d.high[1] - p[1]} }
