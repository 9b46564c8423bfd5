// Package enum gives small integers with names their text form. Package states has
// one of its own, for it is imported here.
package enum

import (
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Words are the words of a type whose values are 0, 1, 2 and so on.
type Words struct {
	Type  string   // the Go type, as in "Verdict", for numbers without a word
	Kind  string   // as errors call a value, as in "verdict"
	Words []string // by number
}

// String returns the word of a number, or a form like "Verdict(99)".
func (w *Words) String(n uint8) string {
	if int(n) < len(w.Words) {
		return w.Words[n]
	}
	return fmt.Sprintf("%s(%d)", w.Type, n)
}

// Marshal returns the word of a number. A number without one is a
// [*states.UnknownError].
func (w *Words) Marshal(n uint8) ([]byte, error) {
	if int(n) >= len(w.Words) {
		return nil, w.unknown(w.String(n))
	}
	return []byte(w.Words[n]), nil
}

// Unmarshal sets a value to that of a word. Any other word is a
// [*states.UnknownError], and the value stays as it was.
func Unmarshal[T ~uint8](w *Words, value *T, text []byte) error {
	n := slices.Index(w.Words, string(text))
	if n < 0 {
		return w.unknown(string(text))
	}
	*value = T(n)
	return nil
}

func (w *Words) unknown(word string) error {
	return &states.UnknownError{Kind: w.Kind, Word: word, Known: slices.Clone(w.Words)}
}
