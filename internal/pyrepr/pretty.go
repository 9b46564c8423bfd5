// SPDX-License-Identifier: Apache-2.0

package pyrepr

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pretty returns a decoded JSON value as Python's pprint.pformat prints it in lines of a width.
// Objects have sorted keys. The time grows with the depth of the value times its length.
func Pretty(v any, width int) string {
	p := printer{width: width}
	p.print(v, 0, 0, true)
	return p.b.String()
}

type printer struct {
	b     strings.Builder
	width int
}

// print writes a value that begins at a column and is followed by after more characters.
func (p *printer) print(v any, column, after int, top bool) {
	text := Of(v)
	if utf8.RuneCountInString(text) <= p.width-column-after {
		p.b.WriteString(text)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		p.items("{", "}", len(keys), column, after, func(i, column, after int) {
			key := Text(keys[i]) + ": "
			p.b.WriteString(key)
			p.print(v[keys[i]], column+utf8.RuneCountInString(key), after, false)
		})
	case []any:
		p.items("[", "]", len(v), column, after, func(i, column, after int) { p.print(v[i], column, after, false) })
	case string:
		p.text(v, column, after, top)
	default:
		p.b.WriteString(text)
	}
}

// items writes the items of a list or an object, each on its own line.
func (p *printer) items(open, end string, n, column, after int, item func(i, column, after int)) {
	p.b.WriteString(open)
	for i := range n {
		following := 1 // a comma
		if i == n-1 {
			following = after + 1
		}
		item(i, column+1, following)
		if i < n-1 {
			p.newline(",", column+1)
		}
	}
	p.b.WriteString(end)
}

func (p *printer) newline(before string, column int) {
	p.b.WriteString(before + "\n" + strings.Repeat(" ", column))
}

// text writes a text as several literals, which Python joins. At the top they are in parentheses.
func (p *printer) text(s string, column, after int, top bool) {
	if top {
		column, after = column+1, after+1
	}
	literals := p.literals(s, p.width-column, after)
	if top && len(literals) > 1 {
		p.b.WriteString("(")
	}
	for i, literal := range literals {
		if i > 0 {
			p.newline("", column)
		}
		p.b.WriteString(literal)
	}
	if top && len(literals) > 1 {
		p.b.WriteString(")")
	}
}

// literals splits a text after line breaks, and long lines after spaces.
func (p *printer) literals(s string, width, after int) (literals []string) {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	fits := func(text string, last bool) bool {
		room := width
		if last {
			room -= after
		}
		return utf8.RuneCountInString(Text(text)) <= room
	}
	for i, line := range lines {
		last := i == len(lines)-1
		if fits(line, last) {
			literals = append(literals, Text(line))
			continue
		}
		current := ""
		words := words(line)
		for j, word := range words {
			if fits(current+word, last && j == len(words)-1) {
				current += word
				continue
			}
			if current != "" {
				literals = append(literals, Text(current))
			}
			current = word
		}
		literals = append(literals, Text(current))
	}
	return literals
}

// words splits a line into words, each with the spaces that follow it.
func words(line string) (words []string) {
	start, spaces := 0, false
	for i, c := range line {
		if space := unicode.IsSpace(c); spaces && !space {
			words, start = append(words, line[start:i]), i
			spaces = false
		} else {
			spaces = space
		}
	}
	return append(words, line[start:])
}
