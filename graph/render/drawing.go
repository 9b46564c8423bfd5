// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/xml"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A drawing is a diagram that Graphviz has drawn as SVG, by element.
type drawing struct {
	title, description string

	width, height, viewBox string // of the image
	transform              string // of all items
	page                   element
	heading                []element
	items                  []item // from back to front
}

// An item is a part, a state or an edge: its shapes, texts among them, and the attributes that describe it.
type item struct {
	id, class, title string
	link             string // empty for none
	shapes           []element
}

// An element of an SVG.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

var errNoPage = errors.New("it has no page")

// readDrawing parses Graphviz's SVG: a group that is the graph and contains a group
// for the heading and one for each part, state and edge.
func readDrawing(svg string) (*drawing, error) {
	var root element
	if err := xml.Unmarshal([]byte(svg), &root); err != nil {
		return nil, err
	}
	all := root.child("g")
	d := &drawing{
		width:     root.get("width"),
		height:    root.get("height"),
		viewBox:   root.get("viewBox"),
		transform: all.get("transform"),
	}
	for _, group := range all.Children {
		i := newItem(group)
		switch drawn, class, _ := strings.Cut(i.class, " "); {
		case group.XMLName.Local != "g":
		case drawn == "cluster", drawn == "edge", drawn == "node":
			i.class = class
			d.items = append(d.items, i)
		case len(i.shapes) > 0:
			d.page, d.heading = i.shapes[0], i.shapes[1:]
		}
	}
	if d.page.get("points") == "" {
		return nil, errNoPage
	}
	return d, nil
}

// newItem returns the item that a group of Graphviz's SVG draws. Graphviz puts the
// tooltip and the address into a link, and its own name of the element into the title.
func newItem(group element) item {
	i := item{id: group.get("id"), class: group.get("class")}
	var add func(element)
	add = func(e element) {
		switch e.XMLName.Local {
		case "title":
		case "a":
			i.title, i.link = e.get("title"), e.get("href")
			fallthrough
		case "g":
			for _, child := range e.Children {
				add(child)
			}
		default:
			i.shapes = append(i.shapes, e)
		}
	}
	add(group)
	return i
}

// child returns the first child with a name, or an empty element if there is none.
func (e element) child(name string) element {
	for _, child := range e.Children {
		if child.XMLName.Local == name {
			return child
		}
	}
	return element{}
}

// get returns the value of an attribute, empty if the element lacks it.
func (e element) get(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// shifted returns a copy of the item whose texts are shifted.
func (i item) shifted(dx, dy float64) item {
	i.shapes = slices.Clone(i.shapes)
	for n, e := range i.shapes {
		if e.XMLName.Local != "text" {
			continue
		}
		i.shapes[n].Attrs = slices.Clone(e.Attrs)
		for k, a := range e.Attrs {
			by := map[string]float64{"x": dx, "y": dy}[a.Name.Local]
			if at, err := strconv.ParseFloat(a.Value, 64); err == nil && by != 0 {
				i.shapes[n].Attrs[k].Value = strconv.FormatFloat(at+by, 'f', 2, 64)
			}
		}
	}
	return i
}
