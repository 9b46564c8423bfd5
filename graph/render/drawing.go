package render

import "github.com/ironstate/ironstate/graph/internal/draft"

// A drawing is a diagram laid out, in Graphviz's coordinates: points, with y
// growing downwards and the origin somewhere on the page.
type drawing struct {
	title, description   string
	heading              item
	parts, edges, states []*item

	colour string // of the page
	page   rectangle
}

// An item is the heading, a part, a state or an edge: what it is, and the marks
// that draw it.
type item struct {
	id string
	draft.Element
	marks []mark
}

// A mark is a shape, a box or a text.
type mark interface{ paint(canvas) }

// A canvas is what marks are painted on.
type canvas interface {
	shape(shape)
	box(box)
	text(text)
}

// A shape is a line or an area.
type shape struct {
	element string // of SVG: path, polygon or polyline
	points  string // as SVG writes them
	pen
}

// A box is a rectangle with round corners.
type box struct {
	rectangle
	pen
}

type rectangle struct{ left, top, width, height float64 }

// radius returns that of a box's corners.
func (r rectangle) radius() float64 { return min(12, r.width/3, r.height/3) }

// A pen is how a shape is drawn.
type pen struct {
	fill, stroke string // a colour, or none
	width        string // of the stroke, empty for 1
	dashes       string // of the stroke, empty for a whole line
}

// A text is on one line.
type text struct {
	words        string
	x, y         float64 // on the base line, at the left or in the middle
	centred      bool    // x is in the middle
	width        float64
	size         float64
	bold, struck bool
	colour       string
}

func (s shape) paint(on canvas) { on.shape(s) }
func (b box) paint(on canvas)   { on.box(b) }
func (t text) paint(on canvas)  { on.text(t) }

// paint paints all marks, from back to front.
func (d *drawing) paint(on canvas) {
	for _, items := range [][]*item{d.parts, d.edges, d.states, {&d.heading}} {
		for _, i := range items {
			i.paint(on)
		}
	}
}

func (i *item) paint(on canvas) {
	for _, m := range i.marks {
		m.paint(on)
	}
}
