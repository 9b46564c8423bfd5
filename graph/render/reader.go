package render

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/graph/internal/draft"
)

// A reader reads Graphviz's answer: an SVG with a group for the graph, and one
// for each part, state and edge. Of the formats that tell all it is the one that
// Graphviz writes fastest.
type reader struct {
	*drawing
	elements map[string]draft.Element
	ruler    *ruler
	item     *item // that is being read
}

// readDrawing returns what Graphviz has drawn of a diagram.
func readDrawing(answer string, of draft.Draft, with *ruler) (*drawing, error) {
	r := reader{
		drawing:  &drawing{title: of.Title, description: of.Description},
		elements: of.Elements,
		ruler:    with,
	}
	r.item = &r.heading
	if err := r.read(answer); err != nil {
		return nil, fmt.Errorf("%w: read its answer: %w", ErrLayout, err)
	}
	return r.drawing, nil
}

func (r *reader) read(answer string) error {
	s := scanner{answer}
	for {
		e, ok, err := s.next()
		switch {
		case err != nil:
			return err
		case !ok && r.colour == "":
			return errNoPage
		case !ok:
			return nil
		}
		if err := r.add(e); err != nil {
			return err
		}
	}
}

var errNoPage = errors.New("it has no page")

func (r *reader) add(e element) error {
	switch e.name {
	case "g":
		r.startItem(e)
	case "polygon", "polyline", "path":
		return r.addShape(e)
	case "text":
		t, err := e.text()
		if err != nil {
			return err
		}
		r.ruler.measure(&t)
		r.item.marks = append(r.item.marks, t)
	}
	return nil
}

// startItem begins an item; groups of other classes are inside of items.
func (r *reader) startItem(e element) {
	var list *[]*item
	switch e.get("class") {
	case "cluster":
		list = &r.parts
	case "edge":
		list = &r.edges
	case "node":
		list = &r.states
	default:
		return
	}
	id := e.get("id")
	r.item = &item{id: id, Element: r.elements[id]}
	*list = append(*list, r.item)
}

// addShape adds a shape or box, but for the first, which is the page.
func (r *reader) addShape(e element) error {
	place, isBox, err := e.rectangle()
	switch {
	case err != nil:
		return err
	case r.colour == "" && !isBox:
		return errNoPage
	case r.colour == "":
		r.colour, r.page = e.get("fill"), place
	case isBox:
		r.item.marks = append(r.item.marks, box{place, e.pen()})
	default:
		r.item.marks = append(r.item.marks, e.shape())
	}
	return nil
}

func (e element) shape() shape {
	points := "points"
	if e.name == "path" {
		points = "d"
	}
	return shape{e.name, e.get(points), e.pen()}
}

func (e element) pen() pen {
	return pen{
		fill:   e.get("fill"),
		stroke: e.get("stroke"),
		width:  e.get("stroke-width"),
		dashes: e.get("stroke-dasharray"),
	}
}

// rectangle returns the place of a polygon of four upright and level sides, whose
// first and last corner are the same.
func (e element) rectangle() (place rectangle, ok bool, err error) {
	points := e.get("points")
	if e.name != "polygon" || strings.Count(points, " ") != 4 {
		return rectangle{}, false, nil
	}
	p, err := numbers(points)
	if err != nil || len(p) != 10 {
		return rectangle{}, false, err
	}
	first, second, third, fourth := p[0:2], p[2:4], p[4:6], p[6:8]
	upright := first[0] == second[0] && second[1] == third[1] && third[0] == fourth[0] && fourth[1] == first[1]
	level := first[1] == second[1] && second[0] == third[0] && third[1] == fourth[1] && fourth[0] == first[0]
	return rectangle{
		left:   min(first[0], third[0]),
		top:    min(first[1], third[1]),
		width:  math.Abs(third[0] - first[0]),
		height: math.Abs(third[1] - first[1]),
	}, upright || level, nil
}

func (e element) text() (text, error) {
	var place [3]float64
	for i, name := range []string{"x", "y", "font-size"} {
		var err error
		if place[i], err = strconv.ParseFloat(e.get(name), 64); err != nil {
			return text{}, fmt.Errorf("%s of a text: %w", name, err)
		}
	}
	return text{
		words: e.words(),
		x:     place[0], y: place[1], size: place[2],
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
