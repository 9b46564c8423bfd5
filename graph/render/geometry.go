// SPDX-License-Identifier: Apache-2.0

package render

import (
	"math"
	"strings"
)

// A point is a place in a drawing, in points.
type point struct{ x, y float64 }

// A box is the rectangle around an element. The box around nothing is inside out.
type box struct{ left, top, right, bottom float64 }

func noBox() box { return box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)} }

func (b box) union(o box) box {
	return box{min(b.left, o.left), min(b.top, o.top), max(b.right, o.right), max(b.bottom, o.bottom)}
}

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func (b box) has(p point) bool { return b.meets(box{p.x, p.y, p.x, p.y}) }

// distance returns the distance from a box to a point, 0 for a point in it.
func (b box) distance(p point) float64 {
	return math.Hypot(max(b.left-p.x, 0, p.x-b.right), max(b.top-p.y, 0, p.y-b.bottom))
}

// withoutLetters replaces the commands of Graphviz's paths.
var withoutLetters = strings.NewReplacer("M", " ", "C", " ")

// line returns points along the lines of an edge, less than a point apart.
func (i item) line() ([]point, error) {
	var line []point
	for _, e := range i.shapes {
		if e.XMLName.Local != "path" {
			continue
		}
		p, err := numbers(withoutLetters.Replace(e.get("d")))
		if err != nil {
			return nil, err
		}
		for ; len(p) >= 8; p = p[6:] {
			steps := math.Ceil(math.Hypot(p[2]-p[0], p[3]-p[1]) + math.Hypot(p[4]-p[2], p[5]-p[3]) + math.Hypot(p[6]-p[4], p[7]-p[5]))
			for s := range int(steps) + 1 {
				f := float64(s) / max(steps, 1)
				g := 1 - f
				a, b, c, d := g*g*g, 3*g*g*f, 3*g*f*f, f*f*f
				line = append(line, point{a*p[0] + b*p[2] + c*p[4] + d*p[6], a*p[1] + b*p[3] + c*p[5] + d*p[7]})
			}
		}
	}
	return line, nil
}

// outline returns the box around the first shape of a part, a state or the page.
func (i item) outline() (box, error) {
	all := noBox()
	for _, e := range i.shapes {
		p, err := numbers(withoutLetters.Replace(e.get("d") + e.get("points")))
		if err != nil {
			return all, err
		}
		for n := 0; n+1 < len(p); n += 2 {
			all = all.union(box{p[n], p[n+1], p[n], p[n+1]})
		}
		if len(p) > 0 {
			break
		}
	}
	return all, nil
}

// words returns the box around an item's texts. Its height is the height of lower-case letters.
func (i item) words() (box, error) {
	all := noBox()
	for _, e := range i.shapes {
		if e.XMLName.Local != "text" {
			continue
		}
		n, err := e.floats("x", "y", "font-size", "textLength")
		if err != nil {
			return all, err
		}
		x, y, size, wide := n[0], n[1], n[2], n[3]
		if e.get("text-anchor") == "middle" {
			x -= wide / 2
		}
		all = all.union(box{x, y - size*0.5, x + wide, y})
	}
	return all, nil
}
