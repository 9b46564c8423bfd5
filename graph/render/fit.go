// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/xml"
	"errors"
	"strconv"
)

// The widths of the characters from the space to the tilde in Helvetica and its bold face, in
// thousandths of the font size, by which Graphviz computes the layout.
//
// Source: Adobe's font metrics of the 14 core fonts of PDF.
var (
	helvetica = [...]int{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	helveticaBold = [...]int{
		278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278,
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611,
		975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556,
		333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611,
		611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
	}
)

// helveticaWidth returns the width of a text in Helvetica of size 1, or false if the text has a
// character that the tables lack.
func helveticaWidth(text string, bold bool) (float64, bool) {
	widths := &helvetica
	if bold {
		widths = &helveticaBold
	}
	sum := 0
	for _, r := range text {
		if r < ' ' || r > '~' {
			return 0, false
		}
		sum += widths[r-' ']
	}
	return float64(sum) / 1000, true
}

// fit gives each text the width in any font that it has in Helvetica, so that it fits the space that Graphviz left for
// it. A text with other characters than ASCII's keeps the width of the reader's font.
func (d *drawing) fit() error {
	err := fit(d.heading)
	for _, i := range d.items {
		err = errors.Join(err, fit(i.shapes))
	}
	return err
}

func fit(shapes []element) error {
	for n := range shapes {
		e := &shapes[n]
		if e.XMLName.Local != "text" {
			continue
		}
		size, err := e.floats("font-size")
		if err != nil {
			return err
		}
		if width, ok := helveticaWidth(e.Text, e.get("font-weight") == "bold"); ok {
			e.Attrs = append(e.Attrs,
				xml.Attr{Name: xml.Name{Local: "textLength"}, Value: strconv.FormatFloat(width*size[0], 'f', 2, 64)},
				xml.Attr{Name: xml.Name{Local: "lengthAdjust"}, Value: "spacingAndGlyphs"})
		}
	}
	return nil
}
