package states

import (
	"database/sql/driver"
	"iter"
	"log/slog"
)

// Allocation is the state of an allocation, a request that Ironic pick a node:
// allocating, then active or error. The zero value is [NoAllocation].
// Allocations came with Stein and API version 1.52.
//
// As with [State], the numbers may change between releases; the words do not.
// Source: ironic/common/states.py.
type Allocation uint8

const (
	// NoAllocation is the absence of a state: null in JSON and SQL, "none" as
	// text.
	NoAllocation Allocation = iota
	// Allocating ("allocating"): a node is being looked for.
	Allocating
	// AllocationActive ("active"): a node was found and is held.
	AllocationActive
	// AllocationError ("error"): no node was found, last_error says why.
	AllocationError
)

var allocationWords = newVocabulary("allocation state", []string{
	NoAllocation:     "none",
	Allocating:       "allocating",
	AllocationActive: "active",
	AllocationError:  "error",
})

// ParseAllocation returns the allocation state of a word. "none" and the empty
// text are NoAllocation. Any other word is an [*UnknownError].
func ParseAllocation(word string) (Allocation, error) {
	return parse[Allocation](allocationWords, word)
}

// AllAllocations ranges over every allocation state, in the order in which an
// allocation meets them. NoAllocation is left out.
func AllAllocations() iter.Seq[Allocation] { return all[Allocation](allocationWords) }

// String returns Ironic's word for the allocation state, or a form like
// "Allocation(99)" for a number that is none.
func (a Allocation) String() string { return allocationWords.word(uint8(a), "Allocation") }

// AppendText appends String to b. A number that is no allocation state is an
// [*UnknownError].
func (a Allocation) AppendText(b []byte) ([]byte, error) {
	return appendText(b, allocationWords, uint8(a), a)
}

// MarshalText is AppendText to an empty slice.
func (a Allocation) MarshalText() ([]byte, error) { return a.AppendText(nil) }

// UnmarshalText is [ParseAllocation]; a keeps its value on error.
func (a *Allocation) UnmarshalText(text []byte) error {
	return setWord(a, allocationWords, string(text))
}

// MarshalJSON returns the word as a JSON string, NoAllocation as null.
func (a Allocation) MarshalJSON() ([]byte, error) { return marshalJSON(allocationWords, uint8(a), a) }

// UnmarshalJSON takes what MarshalJSON returns, and "none", which a map has for
// a key; a keeps its value on error.
func (a *Allocation) UnmarshalJSON(data []byte) error { return unmarshalJSON(a, allocationWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoAllocation.
func (a Allocation) Value() (driver.Value, error) { return sqlValue(allocationWords, uint8(a), a) }

// Scan implements [database/sql.Scanner]: it takes what Value returns, as a string
// or as bytes, and "none"; a keeps its value on error.
func (a *Allocation) Scan(src any) error { return scan(a, allocationWords, src) }

// Set implements [flag.Value]; it is UnmarshalText of a string.
func (a *Allocation) Set(word string) error { return a.UnmarshalText([]byte(word)) }

// LogValue implements [slog.LogValuer]: the word.
func (a Allocation) LogValue() slog.Value { return slog.StringValue(a.String()) }
