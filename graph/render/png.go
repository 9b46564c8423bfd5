package render

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"math"
	"strconv"

	"github.com/fogleman/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"github.com/ironstate/ironstate/graph"
)

// pixels is the number of pixels to a point: 144 dots per inch.
const pixels = 2

// PNG writes a diagram as a PNG image with two pixels to the point. The errors
// are those of [SVG].
func PNG(ctx context.Context, w io.Writer, d graph.Diagram) error {
	drawing, err := layOut(ctx, d)
	if err != nil {
		return err
	}
	image, err := drawing.raster()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := png.Encode(&out, image.Image()); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// A raster is a canvas of pixels.
type raster struct {
	*gg.Context
	page  rectangle
	faces map[faceKey]font.Face
	err   error
}

type faceKey struct {
	size float64
	bold bool
}

func (d *drawing) raster() (*raster, error) {
	r := &raster{
		Context: gg.NewContext(int(math.Ceil(d.page.width*pixels)), int(math.Ceil(d.page.height*pixels))),
		page:    d.page,
		faces:   make(map[faceKey]font.Face),
	}
	r.SetHexColor(d.colour)
	r.Clear()
	r.SetLineCapButt()
	d.paint(r)
	return r, r.err
}

func (r *raster) shape(s shape) {
	if err := r.trace(s); err != nil {
		r.fail(err)
		return
	}
	if s.element == "polygon" {
		r.ClosePath()
	}
	r.draw(s.pen)
}

func (r *raster) box(b box) {
	r.DrawRoundedRectangle((b.left-r.page.left)*pixels, (b.top-r.page.top)*pixels,
		b.rectangle.width*pixels, b.height*pixels, b.radius()*pixels)
	r.draw(b.pen)
}

// draw fills and strokes the path.
func (r *raster) draw(p pen) {
	if p.fill != "none" {
		r.SetHexColor(p.fill)
		r.FillPreserve()
	}
	if p.stroke != "none" {
		if err := r.setPen(p); err != nil {
			r.fail(err)
		}
		r.StrokePreserve()
	}
	r.ClearPath()
}

// trace follows the points of a shape, which for a path are those of cubic Bézier
// curves.
func (r *raster) trace(s shape) error {
	p, err := numbers(s.points)
	if err != nil {
		return err
	}
	for i := 1; i < len(p); i += 2 {
		p[i-1], p[i] = (p[i-1]-r.page.left)*pixels, (p[i]-r.page.top)*pixels
	}
	for i := 0; i+1 < len(p); i += 2 {
		switch {
		case i == 0:
			r.MoveTo(p[0], p[1])
		case s.element != "path":
			r.LineTo(p[i], p[i+1])
		case i%6 == 0:
			r.CubicTo(p[i-4], p[i-3], p[i-2], p[i-1], p[i], p[i+1])
		}
	}
	return nil
}

func (r *raster) setPen(p pen) error {
	width := 1.0
	if p.width != "" {
		var err error
		if width, err = strconv.ParseFloat(p.width, 64); err != nil {
			return err
		}
	}
	dashes, err := numbers(p.dashes)
	if err != nil {
		return err
	}
	for i := range dashes {
		dashes[i] *= pixels
	}
	r.SetHexColor(p.stroke)
	r.SetLineWidth(width * pixels)
	r.SetDash(dashes...)
	return nil
}

// text writes a text in the middle of its place, smaller where the font is wider
// than the one that Graphviz measured.
func (r *raster) text(t text) {
	place := t.width * pixels
	r.setFont(faceKey{t.size, t.bold})
	if wide, _ := r.MeasureString(t.words); isASCII(t.words) && wide > place {
		r.setFont(faceKey{t.size * place / wide, t.bold})
	}
	wide, _ := r.MeasureString(t.words)
	x, y := (t.x-r.page.left)*pixels-wide/2, (t.y-r.page.top)*pixels
	if !t.centred {
		x += place / 2
	}
	r.SetHexColor(t.colour)
	r.DrawString(t.words, x, y)
	if t.struck {
		r.SetLineWidth(pixels)
		r.SetDash()
		middle := y - t.size*pixels*0.3
		r.DrawLine(x, middle, x+wide, middle)
		r.Stroke()
	}
}

// fail keeps the first error.
func (r *raster) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %w", ErrLayout, err)
	}
}

func (r *raster) setFont(key faceKey) {
	face, ok := r.faces[key]
	if !ok {
		var err error
		if face, err = newFace(key); err != nil {
			r.fail(fmt.Errorf("font: %w", err))
			return
		}
		r.faces[key] = face
	}
	r.SetFontFace(face)
}

func newFace(key faceKey) (font.Face, error) {
	ttf := goregular.TTF
	if key.bold {
		ttf = gobold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(parsed, &opentype.FaceOptions{Size: key.size * pixels, DPI: 72})
}
