package render

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode"
)

// A ruler has the width of each ASCII character in Helvetica of size 1, as
// Graphviz knows it. What it is not asked for in its SVG it is asked for once.
type ruler struct {
	regular, bold [unicode.MaxASCII + 1]float64
}

// measure fills in a text's width. Graphviz takes each byte of other characters
// to be as wide as a space, so that a text which has some is to be centred where
// Graphviz put it.
func (r *ruler) measure(t *text) {
	widths := &r.regular
	if t.bold {
		widths = &r.bold
	}
	for _, b := range []byte(t.words) {
		if b > unicode.MaxASCII {
			b = ' '
		}
		t.width += widths[b] * t.size
	}
}

const (
	firstChar, lastChar = ' ', '~'
	rulerSize           = 1000
)

// newRuler has Graphviz measure lines of one character between two bars. The
// caller has the turn.
func newRuler(ctx context.Context) (*ruler, error) {
	var lines strings.Builder
	for _, form := range []string{"|%s|<br/>", "<b>|%s|</b><br/>"} {
		fmt.Fprintf(&lines, form, "")
		for c := firstChar; c <= lastChar; c++ {
			fmt.Fprintf(&lines, form, html.EscapeString(string(c)))
		}
	}
	answer, err := runGraphviz(ctx, fmt.Sprintf(
		"digraph { n [fontname=Helvetica, fontsize=%d, label=<%s>] }", rulerSize, lines.String()), "json")
	if err != nil {
		return nil, err
	}
	return readRuler(answer)
}

func readRuler(answer string) (*ruler, error) {
	var drawn struct {
		Objects []struct {
			Label []struct {
				Text  string
				Width float64
			} `json:"_ldraw_"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &drawn); err != nil {
		return nil, fmt.Errorf("%w: read its measures: %w", ErrLayout, err)
	}
	var widths []float64
	for _, o := range drawn.Objects {
		for _, op := range o.Label {
			if op.Text != "" {
				widths = append(widths, op.Width/rulerSize)
			}
		}
	}
	const lines = 1 + lastChar - firstChar + 1
	if len(widths) != 2*lines {
		return nil, fmt.Errorf("%w: it has measured %d lines", ErrLayout, len(widths))
	}
	r := new(ruler)
	for i := range lines - 1 {
		r.regular[firstChar+i] = widths[1+i] - widths[0]
		r.bold[firstChar+i] = widths[lines+1+i] - widths[lines]
	}
	return r, nil
}
