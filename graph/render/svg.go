package render

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/ironstate/ironstate/graph"
)

// SVG writes a diagram as an SVG image. States and edges are groups with the
// attributes id (as "state-enroll" and "edge-enroll-verifying"), class, a title,
// which is their tooltip, and a label for screen readers.
//
// The errors are those of the diagram, the context's, the writer's, and ones that
// match [ErrLayout].
func SVG(ctx context.Context, w io.Writer, d graph.Diagram) error {
	drawing, err := layOut(ctx, d)
	if err != nil {
		return err
	}
	_, err = w.Write(drawing.svg())
	return err
}

// An svg is a canvas that writes SVG.
type svg struct {
	bytes.Buffer
}

func (d *drawing) svg() []byte {
	var s svg
	s.open(d)
	for _, part := range d.parts {
		s.item(part, "group")
	}
	for _, edge := range d.edges {
		s.item(edge, "img")
	}
	for _, state := range d.states {
		s.item(state, "img")
	}
	s.put("<g class=\"heading\">\n")
	d.heading.paint(&s)
	s.put("</g>\n</svg>\n")
	return s.Bytes()
}

// open writes all that comes before the first group. The labels of edges have a
// seam in the colour of the page, so that they can be read where lines cross.
func (s *svg) open(d *drawing) {
	page := d.page
	left, top, width, height := number(page.left), number(page.top), number(page.width), number(page.height)
	s.put(`<svg xmlns="http://www.w3.org/2000/svg" class="provisioning" role="graphics-document document"`)
	s.attribute("aria-label", d.title)
	s.put(` width="`, width, `pt" height="`, height, `pt" viewBox="`, left, " ", top, " ", width, " ", height, "\">\n")
	s.put("<title>", escape(d.title), "</title>\n<desc>", escape(d.description), "</desc>\n")
	s.put("<style>\n",
		".provisioning text{font-family:Helvetica,Arial,\"Liberation Sans\",sans-serif;white-space:pre}\n",
		".provisioning .edge text{paint-order:stroke;stroke:", d.colour, ";stroke-width:2.5px;stroke-linejoin:round}\n",
		".provisioning .edge:hover path{stroke-width:3px}\n",
		".provisioning a:hover text{text-decoration:underline}\n",
		"</style>\n")
	s.rectangle(page)
	s.pen(pen{fill: d.colour, stroke: "none"})
}

func (s *svg) item(i *item, role string) {
	s.put("<g")
	s.attribute("id", i.id)
	s.attribute("class", i.Class)
	s.attribute("role", role)
	s.attribute("aria-label", i.Title)
	s.put(">\n<title>", escape(i.Title), "</title>\n")
	if i.Link != "" {
		s.put("<a")
		s.attribute("href", i.Link)
		s.put(">\n")
	}
	i.paint(s)
	if i.Link != "" {
		s.put("</a>\n")
	}
	s.put("</g>\n")
}

func (s *svg) shape(f shape) {
	points := "points"
	if f.element == "path" {
		points = "d"
	}
	s.put("<", f.element)
	s.attribute(points, f.points)
	s.pen(f.pen)
}

func (s *svg) box(b box) {
	s.rectangle(b.rectangle)
	s.attribute("rx", number(b.radius()))
	s.pen(b.pen)
}

func (s *svg) rectangle(r rectangle) {
	s.put("<rect")
	s.attribute("x", number(r.left))
	s.attribute("y", number(r.top))
	s.attribute("width", number(r.width))
	s.attribute("height", number(r.height))
}

// pen writes the attributes of a pen and the end of the element.
func (s *svg) pen(p pen) {
	s.attribute("fill", p.fill)
	s.attribute("stroke", p.stroke)
	s.optional("stroke-width", p.width)
	s.optional("stroke-dasharray", p.dashes)
	s.put("/>\n")
}

// text writes a text at the width that Graphviz measured, or where it could not,
// around the middle of its place.
func (s *svg) text(t text) {
	x, anchor, measured := t.x, "", isASCII(t.words)
	switch {
	case t.centred:
		anchor = "middle"
	case !measured:
		x, anchor = t.x+t.width/2, "middle"
	}
	s.put("<text")
	s.attribute("x", number(x))
	s.attribute("y", number(t.y))
	s.optional("text-anchor", anchor)
	if measured {
		s.attribute("textLength", number(t.width))
		s.attribute("lengthAdjust", "spacingAndGlyphs")
	}
	s.attribute("font-size", number(t.size))
	s.attribute("fill", t.colour)
	if t.bold {
		s.attribute("font-weight", "bold")
	}
	if t.struck {
		s.attribute("text-decoration", "line-through")
	}
	s.put(">", escape(t.words), "</text>\n")
}

func (s *svg) put(pieces ...string) {
	for _, p := range pieces {
		s.WriteString(p)
	}
}

func (s *svg) attribute(name, value string) { s.put(" ", name, `="`, escape(value), `"`) }

// optional writes an attribute that has a value.
func (s *svg) optional(name, value string) {
	if value != "" {
		s.attribute(name, value)
	}
}

// number writes a number with at most two digits after the point.
func number(x float64) string {
	rounded := math.Round(x*100)/100 + 0 // no -0
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// escape returns a text for use in XML, in attributes too.
func escape(text string) string {
	if !strings.ContainsAny(text, "<>&'\"\t\n\r") && isASCII(text) {
		return text
	}
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}
