package states

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrUnknown is matched by every error that says that a word or a number is not
// in a vocabulary of this package; the error itself is an [*UnknownError].
var ErrUnknown = errors.New("unknown word")

// UnknownError says that a word is not in a vocabulary, and what is. It matches
// [ErrUnknown].
type UnknownError struct {
	Kind  string   // the vocabulary: "state", "event", "verb", "power state", ...
	Word  string   // the word as it was given
	Known []string // the words that would have been right, in Ironic's order
}

// Error quotes the word, cut where it is long, and lists the known ones.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %s; known: %s", e.Kind, quote(e.Word), strings.Join(e.Known, ", "))
}

// quote quotes a word for an error, cut where it is long.
func quote(word string) string {
	const most = 64 // runes
	cut := fmt.Sprintf("%.*q", most, word)
	if utf8.RuneCountInString(word) > most {
		return cut + "..."
	}
	return cut
}

// Is reports whether target is [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// A vocabulary gives each number from 0 its word, and each word its number.
type vocabulary struct {
	kind  string
	words []string
	slots [numSlots]uint8 // open addressing by hash; a number plus one, or 0
}

const numSlots = 256

// The words are static data; indexing them is all that importing the package
// costs.
func init() {
	for _, v := range [...]*vocabulary{
		stateWords, eventWords, verbWords, powerWords, allocationWords, seriesWords,
	} {
		v.index()
	}
}

func (v *vocabulary) index() {
	for n, word := range v.words {
		slot := hash(word)
		for v.slots[slot] != 0 {
			slot++
		}
		v.slots[slot] = uint8(n + 1)
	}
}

// hash tells apart most words of a vocabulary by their length and three letters.
func hash(word string) uint8 {
	if word == "" {
		return 0
	}
	n := len(word)
	return uint8(n)*7 + word[0]*11 + word[n/2]*3 + word[n-1]*5
}

// find returns the number of a word.
func (v *vocabulary) find(word string) (uint8, bool) {
	for slot := hash(word); ; slot++ {
		n := v.slots[slot]
		if n == 0 {
			return 0, false
		}
		if v.words[n-1] == word {
			return n - 1, true
		}
	}
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
