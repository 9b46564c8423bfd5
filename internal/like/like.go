// SPDX-License-Identifier: Apache-2.0

// Package like compares texts as SQL's LIKE does.
package like

import "unicode"

// Pattern is a pattern in which % stands for any characters, _ for one, and letters are equal in both cases.
type Pattern struct {
	runes []rune
	fixed int // the characters that a text has at least
}

// Compile returns a pattern.
func Compile(text string) Pattern {
	var p Pattern
	for _, r := range text {
		switch {
		case r != '%':
			p.fixed++
		case len(p.runes) > 0 && p.runes[len(p.runes)-1] == '%':
			continue
		}
		p.runes = append(p.runes, fold(r))
	}
	return p
}

// Matches reports whether the pattern matches a text. Its time is at most the product of the lengths.
func (p Pattern) Matches(text string) bool {
	var runes []rune
	for _, r := range text {
		runes = append(runes, fold(r))
	}
	if p.fixed > len(runes) {
		return false
	}
	at, resume, tried := 0, -1, 0 // the position in the pattern, the one after the last %, and the text that % has begun with
	for i := 0; i < len(runes); {
		switch {
		case at < len(p.runes) && p.runes[at] == '%':
			at++
			resume, tried = at, i
		case at < len(p.runes) && (p.runes[at] == '_' || p.runes[at] == runes[i]):
			at, i = at+1, i+1
		case resume >= 0: // the last % takes one more
			tried++
			at, i = resume, tried
		default:
			return false
		}
	}
	for at < len(p.runes) && p.runes[at] == '%' {
		at++
	}
	return at == len(p.runes)
}

// fold returns the least of the characters that differ from r in their case only.
func fold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}
