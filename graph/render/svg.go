package render

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

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
		s.group(d, part, "group")
	}
	for _, edge := range d.edges {
		s.group(d, edge, "img")
	}
	for _, state := range d.states {
		s.group(d, state, "img")
	}
	s.printf("<g class=\"heading\">\n")
	d.paint(&s, d.operations())
	s.printf("</g>\n</svg>\n")
	return s.Bytes()
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// open writes all that comes before the first group. The labels of edges have a
// seam in the colour of the page, so that they can be read where lines cross.
func (s *svg) open(d *drawing) {
	width, height := d.size()
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="provisioning" role="graphics-document document" `+
		`aria-label="%s" width="%spt" height="%spt" viewBox="0 0 %[2]s %[3]s">`+"\n",
		escape(d.Tooltip), number(width), number(height))
	s.printf("<title>%s</title>\n<desc>%s</desc>\n", escape(d.Tooltip), escape(d.Description))
	s.printf("<style>\n"+
		".provisioning text{font-family:Helvetica,Arial,\"Liberation Sans\",sans-serif;white-space:pre}\n"+
		".provisioning .edge text{paint-order:stroke;stroke:%s;stroke-width:2.5px;stroke-linejoin:round}\n"+
		".provisioning .edge:hover path{stroke-width:3px}\n"+
		".provisioning a:hover text{text-decoration:underline}\n"+
		"</style>\n", d.BGColor)
	s.printf("<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n", d.BGColor)
}

func (s *svg) group(d *drawing, i item, role string) {
	s.printf("<g id=%q class=%q role=%q aria-label=\"%s\">\n", i.ID, i.Class, role, escape(i.Tooltip))
	s.printf("<title>%s</title>\n", escape(i.Tooltip))
	if i.URL != "" {
		s.printf("<a href=\"%s\">\n", escape(i.URL))
	}
	d.paint(s, i.operations())
	if i.URL != "" {
		s.printf("</a>\n")
	}
	s.printf("</g>\n")
}

func (s *svg) path(p path) {
	s.printf(`<path d="`)
	for i, at := range p.points {
		switch {
		case i == 0:
			s.printf("M")
		case !p.curved:
			s.printf("L")
		case i%3 == 1:
			s.printf("C")
		default:
			s.printf(" ")
		}
		s.printf("%s,%s", number(at[0]), number(at[1]))
	}
	if p.closed {
		s.printf("Z")
	}
	s.printf(`" fill="%s" stroke="%s"`, orNone(p.fill), orNone(p.stroke))
	if p.width != 1 {
		s.printf(` stroke-width="%s"`, number(p.width))
	}
	if p.dashed {
		s.printf(` stroke-dasharray="5,2"`)
	}
	s.printf("/>\n")
}

// span writes a text at the width that Graphviz measured, or where it could not,
// around the middle of its place.
func (s *svg) span(t span) {
	if t.measured {
		s.printf(`<text x="%s" textLength="%s" lengthAdjust="spacingAndGlyphs"`, number(t.at[0]), number(t.width))
	} else {
		s.printf(`<text x="%s" text-anchor="middle"`, number(t.at[0]+t.width/2))
	}
	s.printf(` y="%s" font-size="%s" fill="%s"`, number(t.at[1]), number(t.size), t.colour)
	if t.bold {
		s.printf(` font-weight="bold"`)
	}
	if t.struck {
		s.printf(` text-decoration="line-through"`)
	}
	s.printf(">%s</text>\n", escape(t.text))
}

func orNone(colour string) string {
	if colour == "" {
		return "none"
	}
	return colour
}

// number writes a number with at most two digits after the point.
func number(x float64) string {
	hundredths := strconv.FormatFloat(x, 'f', 2, 64)
	short, _ := strconv.ParseFloat(hundredths, 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// escape returns a text for use in XML, in attributes too.
func escape[T ~string](t T) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(t)) // a Buffer does not fail
	return b.String()
}
