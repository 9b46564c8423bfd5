// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/emicklei/dot"
)

// clean normalizes a caller's text for every format: one line of valid UTF-8 without control characters, with one space
// between words, since Graphviz changes wider gaps.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		case r == '\uFFFE' || r == '\uFFFF':
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)), " ")
}

// quoteDOT returns a clean text as a quoted string of DOT. Graphviz takes a
// backslash for an escape and an ampersand for an entity in it.
func quoteDOT(text string) dot.Literal {
	return dot.Literal(`"` + dotEscaper.Replace(text) + `"`)
}

var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)

// quoteYAML returns a clean text as a quoted string of YAML, for Mermaid's front
// matter. Mermaid parses its own syntax there before it parses the YAML.
func quoteYAML(text string) string {
	return `"` + replaceSigns(text, `\U%08x`) + `"`
}

// entities returns a clean text for use on a line of Mermaid, with Mermaid's
// entities in place of characters that might be syntax.
func entities(text string) string { return replaceSigns(text, "#%d;") }

// replaceSigns replaces all characters except letters, digits and a few harmless ones by their code points in a format.
func replaceSigns(text, format string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:-/()'", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, format, r)
		}
	}
	return b.String()
}

// slug returns a word or title as an identifier.
func slug(word string) string {
	return strings.ToLower(slugger.Replace(word))
}

var slugger = strings.NewReplacer(" ", "_", "-", "_")

// escapeMarkdown returns a clean text for use as a line of Markdown, with a backslash
// before the characters that might be syntax.
func escapeMarkdown(text string) string {
	var b strings.Builder
	numbered := true // all runes so far are digits, as in "1." of a numbered list
	for i, r := range text {
		switch {
		case strings.ContainsRune(".)", r) && numbered, r == '-' && i == 0,
			r < unicode.MaxASCII && unicode.In(r, unicode.P, unicode.S) && !strings.ContainsRune(".,:;/()'\"-", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		numbered = numbered && unicode.IsDigit(r)
	}
	return b.String()
}
