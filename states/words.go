// SPDX-License-Identifier: Apache-2.0

package states

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// UnknownError says that a word or a number is not in a vocabulary, and lists the words
// that are. Every package of this module returns it for unknown words and numbers.
type UnknownError struct {
	Kind  string   // the vocabulary: "state", "event", "verb", "power state", ...
	Word  string   // the word as it was given
	Known []string // the words of the vocabulary, in Ironic's order
}

// Error quotes the word, truncated if it is long, and lists the known ones.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %s; known: %s", e.Kind, quote(e.Word), strings.Join(e.Known, ", "))
}

// quote quotes a word for an error, truncated if it is long.
func quote(word string) string {
	const most = 64 // runes
	cut := fmt.Sprintf("%.*q", most, word)
	if utf8.RuneCountInString(word) > most {
		return cut + "..."
	}
	return cut
}

// A vocabulary maps the numbers from 0 to words, and words to numbers. The empty text
// stands for the word of 0, none: gophercloud and other clients decode null as the
// empty text.
type vocabulary struct {
	kind    string
	words   []string
	numbers map[string]uint8
	anyCase bool // whether find ignores case
}

func newVocabulary(kind string, words []string) *vocabulary {
	v := &vocabulary{kind: kind, words: words, numbers: map[string]uint8{"": 0}}
	for n, word := range words {
		v.numbers[word] = uint8(n)
	}
	return v
}

// inAnyCase returns the vocabulary with further words, whose find ignores case.
func (v *vocabulary) inAnyCase(more map[string]Series) *vocabulary {
	for word, s := range more {
		v.numbers[word] = uint8(s)
	}
	v.anyCase = true
	return v
}

// find returns the number of a word.
func (v *vocabulary) find(word string) (uint8, bool) {
	if v.anyCase {
		word = strings.ToLower(word)
	}
	n, ok := v.numbers[word]
	return n, ok
}

// word returns the word of a number, or goType(number) for one that has none.
func (v *vocabulary) word(n uint8, goType string) string {
	if int(n) < len(v.words) {
		return v.words[n]
	}
	return fmt.Sprintf("%s(%d)", goType, n)
}

func (v *vocabulary) unknown(word string) error {
	return &UnknownError{Kind: v.kind, Word: word, Known: slices.Clone(v.words[1:])}
}

func parse[T ~uint8](v *vocabulary, word string) (T, error) {
	n, ok := v.find(word)
	if !ok {
		return 0, v.unknown(word)
	}
	return T(n), nil
}

// all ranges over the values of a vocabulary, in order and without none.
func all[T ~uint8](v *vocabulary) iter.Seq[T] {
	return func(yield func(T) bool) {
		for n := 1; n < len(v.words); n++ {
			if !yield(T(n)) {
				return
			}
		}
	}
}
