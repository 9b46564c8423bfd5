package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A reader reads Graphviz's answer: an SVG with a group for the graph, and one
// for each part, state and edge. Of the formats that tell all it is the one that
// Graphviz writes fastest.
type reader struct {
	*drawing
	ruler *ruler
	item  *item // that is being read
	text  *text // that is being read, nil outside of texts
}

// readDrawing returns what Graphviz has drawn.
func readDrawing(answer []byte, with *ruler) (*drawing, error) {
	r := reader{drawing: new(drawing), ruler: with}
	r.item = &r.heading
	decoder := xml.NewDecoder(bytes.NewReader(answer))
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) && r.colour != "" {
			return r.drawing, nil
		}
		if err == nil {
			err = r.read(token)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: read its answer: %w", ErrLayout, err)
		}
	}
}

func (r *reader) read(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.start(element(t))
	case xml.CharData:
		if r.text != nil {
			r.text.words += string(t)
		}
	case xml.EndElement:
		if r.text != nil {
			r.ruler.measure(r.text)
			r.item.marks = append(r.item.marks, *r.text)
			r.text = nil
		}
	}
	return nil
}

func (r *reader) start(e element) (err error) {
	switch e.Name.Local {
	case "g":
		r.startItem(e)
	case "a":
		r.item.link, r.item.tooltip = e.get("href"), e.get("title")
	case "polygon", "polyline", "path":
		if r.colour == "" { // the first thing that Graphviz draws
			return r.setPage(e)
		}
		r.item.marks = append(r.item.marks, e.shape())
	case "text":
		r.text, err = e.text()
	}
	return err
}

// startItem begins an item. Graphviz writes what it is before the classes that
// package graph gave it; groups without are inside of items.
func (r *reader) startItem(e element) {
	var list *[]*item
	what, class, _ := strings.Cut(e.get("class"), " ")
	switch what {
	case "cluster":
		list = &r.parts
	case "edge":
		list = &r.edges
	case "node":
		list = &r.states
	default:
		return
	}
	r.item = &item{id: e.get("id"), class: class}
	*list = append(*list, r.item)
}

// setPage takes a rectangle for the page, from the lower left corner on.
func (r *reader) setPage(e element) error {
	corners, err := numbers(e.get("points"))
	switch {
	case err != nil:
		return err
	case len(corners) < 6:
		return errors.New("it has no page")
	}
	r.colour = e.get("fill")
	r.left, r.top = corners[0], corners[3]
	r.width, r.height = corners[4]-corners[0], corners[1]-corners[3]
	return nil
}

// An element of Graphviz's SVG. Its attributes differ in their local names.
type element xml.StartElement

// get returns an attribute, empty where it is not there.
func (e element) get(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) shape() shape {
	points := "points"
	if e.Name.Local == "path" {
		points = "d"
	}
	return shape{
		element: e.Name.Local,
		points:  e.get(points),
		fill:    e.get("fill"),
		stroke:  e.get("stroke"),
		width:   e.get("stroke-width"),
		dashes:  e.get("stroke-dasharray"),
	}
}

func (e element) text() (*text, error) {
	var place [3]float64
	for i, name := range []string{"x", "y", "font-size"} {
		var err error
		if place[i], err = strconv.ParseFloat(e.get(name), 64); err != nil {
			return nil, fmt.Errorf("%s of a text: %w", name, err)
		}
	}
	return &text{
		x: place[0], y: place[1], size: place[2],
		centred: e.get("text-anchor") == "middle",
		bold:    e.get("font-weight") == "bold",
		struck:  e.get("text-decoration") == "line-through",
		colour:  e.get("fill"),
	}, nil
}

// numbers returns the numbers in an attribute: coordinates, mostly.
func numbers(attribute string) ([]float64, error) {
	var all []float64
	for field := range strings.FieldsFuncSeq(attribute, func(r rune) bool { return strings.ContainsRune("MC, ", r) }) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
