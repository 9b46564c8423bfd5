// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"

	"github.com/ironstate/ironstate/graph"
)

// SVG writes a diagram as an SVG image. States and edges are groups with the attributes id (such as "state-enroll" and
// "edge-enroll-verifying") and class, a title element, which is their tooltip, and a label for screen readers.
//
// SVG returns the errors of the diagram, of the context, of the writer, and errors that match [ErrLayout].
func SVG(ctx context.Context, w io.Writer, d graph.Diagram) error {
	return write(ctx, w, d, (*drawing).svg)
}

func (d *drawing) svg() ([]byte, error) {
	var s svg
	s.open(d)
	for _, i := range d.items {
		s.item(i)
	}
	s.put("<g class=\"heading\">\n")
	s.shapes(d.heading)
	s.put("</g>\n</g>\n</svg>\n")
	return s.Bytes(), nil
}

// An svg is the text of an SVG.
type svg struct{ bytes.Buffer }

// open writes the image up to the first item. The labels of edges have an outline in
// the colour of the page, so that they stay readable where lines cross them.
func (s *svg) open(d *drawing) {
	s.put(`<svg xmlns="http://www.w3.org/2000/svg" class="provisioning" role="graphics-document document"`)
	s.attribute("aria-label", d.title)
	s.attribute("width", d.width)
	s.attribute("height", d.height)
	s.attribute("viewBox", d.viewBox)
	s.put(">\n<title>", escape(d.title), "</title>\n<desc>", escape(d.description), "</desc>\n")
	s.put("<style>\n",
		".provisioning text{font-family:Helvetica,Arial,\"Liberation Sans\",sans-serif}\n",
		".provisioning .edge text{paint-order:stroke;stroke:", d.page.get("fill"), ";stroke-width:2.5px;stroke-linejoin:round}\n",
		".provisioning .edge:hover path{stroke-width:3px}\n",
		".provisioning a:hover text{text-decoration:underline}\n",
		"</style>\n<g")
	s.attribute("transform", d.transform)
	s.put(">\n")
	s.shapes([]element{d.page})
}

func (s *svg) item(i item) {
	s.put("<g")
	s.attribute("id", i.id)
	s.attribute("class", i.class)
	role := "img"
	if i.link != "" {
		role = "group" // the parts of an image, such as a link, are nothing to a screen reader
	}
	s.attribute("role", role)
	s.attribute("aria-label", i.title)
	s.put(">\n<title>", escape(i.title), "</title>\n")
	if i.link != "" {
		s.put("<a")
		s.attribute("href", i.link)
		s.put(">\n")
	}
	s.shapes(i.shapes)
	if i.link != "" {
		s.put("</a>\n")
	}
	s.put("</g>\n")
}

// shapes writes shapes as in Graphviz's output, without the font, which is in the style sheet.
func (s *svg) shapes(shapes []element) {
	for _, e := range shapes {
		s.shape(e, func(attribute string) bool { return attribute != "font-family" })
		s.put("\n")
	}
}

// shape writes a shape or a text with the attributes that keep selects.
func (s *svg) shape(e element, keep func(attribute string) bool) {
	s.put("<", e.XMLName.Local)
	for _, a := range e.Attrs {
		if keep(a.Name.Local) {
			s.attribute(a.Name.Local, a.Value)
		}
	}
	if e.Text == "" {
		s.put("/>")
	} else {
		s.put(">", escape(e.Text), "</", e.XMLName.Local, ">")
	}
}

func (s *svg) put(pieces ...string) {
	for _, p := range pieces {
		s.WriteString(p)
	}
}

func (s *svg) attribute(name, value string) { s.put(" ", name, `="`, escape(value), `"`) }

// escape escapes a text for use in XML, including attributes.
func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a Buffer does not fail
	return b.String()
}
