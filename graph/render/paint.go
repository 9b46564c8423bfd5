package render

import (
	"strconv"
	"strings"
	"unicode"
)

// A canvas is what a drawing is painted on.
type canvas interface {
	path(path)
	span(span)
}

// A path is a line or the outline of a shape.
type path struct {
	points       []point
	curved       bool // the points are those of cubic Bézier curves
	closed       bool
	fill, stroke string // a colour, empty for none
	width        float64
	dashed       bool
}

// A span is a piece of text on one line.
type span struct {
	at           point // on the base line, at the left
	width        float64
	measured     bool // Graphviz knows the width, and has not guessed
	size         float64
	bold, struck bool
	colour       string
	text         string
}

// A pen is the state that operations change.
type pen struct {
	stroke, fill string
	width        float64
	dashed       bool
	size         float64
	font         int
}

// Bits of an operation's FontChar.
const (
	boldFont   = 1 << 0
	struckFont = 1 << 5
)

// paint carries out operations, from back to front.
func (d *drawing) paint(on canvas, operations []operation) {
	p := pen{width: 1}
	for _, op := range operations {
		switch op.Op {
		case "c":
			p.stroke = visible(op.Color)
		case "C":
			p.fill = visible(op.Color)
		case "S":
			p.set(op.Style)
		case "F":
			p.size = op.Size
		case "t":
			p.font = op.FontChar
		case "T":
			on.span(d.spanOf(p, op))
		default:
			on.path(d.pathOf(p, op))
		}
	}
}

// visible returns a colour, empty for a transparent one.
func visible(colour string) string {
	if len(colour) == len("#rrggbbaa") && strings.HasSuffix(colour, "00") {
		return ""
	}
	return colour
}

func (p *pen) set(style string) {
	if number, ok := strings.CutPrefix(style, "setlinewidth("); ok {
		if width, err := strconv.ParseFloat(strings.TrimSuffix(number, ")"), 64); err == nil {
			p.width = width
		}
		return
	}
	p.dashed = style == "dashed"
}

// pathOf returns the path of an operation: b is a curve, p a polygon, L a line;
// the upper case ones are filled.
func (d *drawing) pathOf(p pen, op operation) path {
	result := path{
		curved: strings.EqualFold(op.Op, "b"),
		closed: op.Op != "L" && op.Op != "b",
		stroke: p.stroke,
		width:  p.width,
		dashed: p.dashed,
	}
	if op.Op == "B" || op.Op == "P" {
		result.fill = p.fill
	}
	for _, at := range op.Points {
		result.points = append(result.points, d.place(at))
	}
	return result
}

func (d *drawing) spanOf(p pen, op operation) span {
	at := d.place(op.Pt)
	switch op.Align {
	case "c":
		at[0] -= op.Width / 2
	case "r":
		at[0] -= op.Width
	}
	return span{
		at:       at,
		width:    op.Width,
		measured: isASCII(op.Text),
		size:     p.size,
		bold:     p.font&boldFont != 0,
		struck:   p.font&struckFont != 0,
		colour:   p.stroke,
		text:     op.Text,
	}
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
