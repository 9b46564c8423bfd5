// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fogleman/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"github.com/ironstate/ironstate/graph"
)

const (
	pixels = 2 // per point: 144 dots per inch

	// narrower scales the Go fonts so that words are as wide as in Helvetica, which Graphviz uses to compute the layout.
	narrower = 0.97
)

// PNG writes a diagram as a PNG image with two pixels per point. It returns the errors of [SVG].
func PNG(ctx context.Context, w io.Writer, d graph.Diagram) error {
	return write(ctx, w, d, (*drawing).png)
}

func (d *drawing) png() ([]byte, error) {
	p, err := d.paint()
	if err != nil {
		return nil, fmt.Errorf("%w: paint its SVG: %w", ErrLayout, err)
	}
	var out bytes.Buffer
	err = png.Encode(&out, p.Image())
	return out.Bytes(), err
}

// A painter paints the elements of a drawing.
type painter struct {
	*gg.Context
	faces map[faceKey]font.Face
}

type faceKey struct {
	size float64
	bold bool
}

func newPainter(width, height int) *painter {
	return &painter{Context: gg.NewContext(width, height), faces: make(map[faceKey]font.Face)}
}

// paint paints a drawing on a canvas of its size.
func (d *drawing) paint() (*painter, error) {
	page, err := item{shapes: []element{d.page}}.outline()
	if err != nil {
		return nil, err
	}
	width, height := (page.right-page.left)*pixels, (page.bottom-page.top)*pixels
	if !(width >= 1 && height >= 1 && width*height < 1<<30) {
		return nil, fmt.Errorf("a page of %v by %v pixels", width, height)
	}
	p := newPainter(int(math.Ceil(width)), int(math.Ceil(height)))
	p.SetHexColor(d.page.get("fill"))
	p.Clear()
	p.SetLineCapButt()
	p.Scale(pixels, pixels)
	p.Translate(-page.left, -page.top)
	var shapes []element
	for _, i := range d.items {
		shapes = append(shapes, i.shapes...)
	}
	for _, e := range append(shapes, d.heading...) {
		if err := p.paint(e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.XMLName.Local, err)
		}
	}
	return p, nil
}

// paint paints a shape.
func (p *painter) paint(e element) error {
	var err error
	switch e.XMLName.Local {
	case "text":
		return p.text(e)
	case "path":
		err = p.trace(e.get("d"))
	case "polygon":
		err = p.trace("M" + e.get("points"))
		p.ClosePath()
	case "polyline":
		err = p.trace("M" + e.get("points"))
	}
	if err != nil {
		return err
	}
	return p.draw(e)
}

// trace adds an SVG path: M begins a line, C is followed by the points of cubic Bézier curves.
func (p *painter) trace(path string) error {
	line, curves, _ := strings.Cut(strings.TrimPrefix(path, "M"), "C")
	points, err := numbers(line)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(points); i += 2 {
		p.LineTo(points[i], points[i+1])
	}
	if points, err = numbers(curves); err != nil {
		return err
	}
	for ; len(points) >= 6; points = points[6:] {
		p.CubicTo(points[0], points[1], points[2], points[3], points[4], points[5])
	}
	return nil
}

// draw fills and strokes the path, and clears it.
func (p *painter) draw(e element) error {
	defer p.ClearPath()
	if fill := e.get("fill"); fill != "none" {
		p.SetHexColor(fill)
		p.FillPreserve()
	}
	stroke := e.get("stroke")
	if stroke == "none" {
		return nil
	}
	width, err := e.floats("stroke-width")
	if err != nil {
		return err
	}
	if e.get("stroke-width") == "" {
		width[0] = 1
	}
	dashes, err := numbers(e.get("stroke-dasharray"))
	if err != nil {
		return err
	}
	for i := range dashes {
		dashes[i] *= pixels
	}
	p.SetHexColor(stroke)
	p.SetLineWidth(width[0] * pixels)
	p.SetDash(dashes...)
	p.Stroke()
	return nil
}

// text paints a text element.
func (p *painter) text(e element) error {
	n, err := e.floats("x", "y", "font-size")
	if err != nil {
		return err
	}
	x, y, size := n[0], n[1], n[2]
	if err := p.setFont(faceKey{size * narrower * pixels, e.get("font-weight") == "bold"}); err != nil {
		return err
	}
	x, y = p.TransformPoint(x, y)
	wide, _ := p.MeasureString(e.Text)
	if e.get("text-anchor") == "middle" {
		x -= wide / 2
	}
	p.Push()
	defer p.Pop()
	p.Identity()
	p.SetHexColor(e.get("fill"))
	p.DrawString(e.Text, x, y)
	if e.get("text-decoration") == "line-through" {
		p.SetLineWidth(pixels)
		p.SetDash()
		middle := y - size*pixels*0.3
		p.DrawLine(x, middle, x+wide, middle)
		p.Stroke()
	}
	return nil
}

// setFont selects a font, which it parses at its first use.
func (p *painter) setFont(key faceKey) error {
	face, ok := p.faces[key]
	if !ok {
		ttf := goregular.TTF
		if key.bold {
			ttf = gobold.TTF
		}
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			return err
		}
		if face, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: key.size, DPI: 72}); err != nil {
			return err
		}
		p.faces[key] = face
	}
	p.SetFontFace(face)
	return nil
}

// floats returns the numbers in some attributes, 0 for one that is missing.
func (e element) floats(names ...string) ([]float64, error) {
	all := make([]float64, len(names))
	for i, name := range names {
		text := e.get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

// numbers returns the numbers in an attribute.
func numbers(attribute string) ([]float64, error) {
	var all []float64
	for field := range strings.FieldsFuncSeq(attribute, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
