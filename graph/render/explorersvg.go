// SPDX-License-Identifier: Apache-2.0

package render

import "slices"

// explorerSVG returns the drawing for the explorer. It has no colours, which are in the page's style sheet. Parts,
// states and edges have a data-id instead of an id, so that the page can show two copies.
func (d *drawing) explorerSVG() string {
	var s svg
	s.put(`<svg xmlns="http://www.w3.org/2000/svg" role="group"`)
	s.attribute("viewBox", d.viewBox)
	s.put(">\n<g")
	s.attribute("transform", d.transform)
	s.put(">\n")
	for _, i := range d.items {
		s.explorerItem(i)
	}
	s.put("</g>\n</svg>\n")
	return s.String()
}

func (s *svg) explorerItem(i item) {
	s.put("<g")
	s.attribute("data-id", i.id)
	s.attribute("class", string(i.kind()))
	if i.kind() == stateKind {
		s.put(` role="button" tabindex="-1"`)
	} else {
		s.put(` aria-hidden="true"`)
	}
	if i.has("spine") {
		s.put(` data-spine=""`)
	}
	s.put(">")
	if i.kind() != partKind {
		s.put("<title>", escape(i.title), "</title>")
	}
	for _, e := range i.shapes {
		s.shape(e, isBare)
	}
	s.put("</g>\n")
}

// isBare reports whether an attribute has neither a colour nor a font, which are in the page's style sheet.
func isBare(attribute string) bool {
	return slices.Contains([]string{"d", "points", "x", "y", "text-anchor", "textLength", "lengthAdjust"}, attribute)
}
