package render

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"math"

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
	faces map[faceKey]font.Face
	err   error
}

type faceKey struct {
	size float64
	bold bool
}

func (d *drawing) raster() (*raster, error) {
	width, height := d.size()
	r := &raster{
		Context: gg.NewContext(int(math.Ceil(width*pixels)), int(math.Ceil(height*pixels))),
		faces:   make(map[faceKey]font.Face),
	}
	r.SetHexColor(d.BGColor)
	r.Clear()
	r.SetLineCapButt()
	for _, items := range [][]item{d.parts, d.edges, d.states, {d.item}} {
		for _, i := range items {
			d.paint(r, i.operations())
		}
	}
	return r, r.err
}

func (r *raster) path(p path) {
	at := func(i int) (x, y float64) { return p.points[i][0] * pixels, p.points[i][1] * pixels }
	r.MoveTo(at(0))
	for i := 1; i < len(p.points); i++ {
		if !p.curved {
			r.LineTo(at(i))
		} else if i%3 == 0 {
			x1, y1 := at(i - 2)
			x2, y2 := at(i - 1)
			x, y := at(i)
			r.CubicTo(x1, y1, x2, y2, x, y)
		}
	}
	if p.closed {
		r.ClosePath()
	}
	if p.fill != "" {
		r.SetHexColor(p.fill)
		r.FillPreserve()
	}
	if p.stroke != "" {
		r.SetHexColor(p.stroke)
		r.SetLineWidth(p.width * pixels)
		r.SetDash()
		if p.dashed {
			r.SetDash(5*pixels, 2*pixels)
		}
		r.StrokePreserve()
	}
	r.ClearPath()
}

// span writes a text in the middle of its place, smaller where the font is wider
// than the one that Graphviz measured.
func (r *raster) span(t span) {
	r.setFont(faceKey{t.size, t.bold})
	if wide, _ := r.MeasureString(t.text); t.measured && wide > t.width*pixels {
		r.setFont(faceKey{t.size * t.width * pixels / wide, t.bold})
	}
	wide, _ := r.MeasureString(t.text)
	x, y := t.at[0]*pixels+(t.width*pixels-wide)/2, t.at[1]*pixels
	r.SetHexColor(t.colour)
	r.DrawString(t.text, x, y)
	if t.struck {
		r.SetLineWidth(pixels)
		r.SetDash()
		middle := y - t.size*pixels*0.3
		r.DrawLine(x, middle, x+wide, middle)
		r.Stroke()
	}
}

func (r *raster) setFont(key faceKey) {
	face, ok := r.faces[key]
	if !ok {
		var err error
		if face, err = newFace(key); err != nil {
			r.err = fmt.Errorf("font: %w", err)
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
