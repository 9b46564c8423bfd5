// SPDX-License-Identifier: Apache-2.0

package states

import "database/sql/driver"

// Allocation is the state of an allocation: a client's request for some node with certain
// properties. The zero value is [NoAllocation].
//
// As with [State], the numbers may change between releases; the words do not.
// Source: ironic/common/states.py. Allocations exist since Stein.
type Allocation uint8

const (
	// NoAllocation is the absence of a state, null in JSON and SQL and "none" as text.
	NoAllocation Allocation = iota
	// Allocating ("allocating"): the conductor chooses a node.
	Allocating
	// AllocationActive ("active"): the allocation has a node.
	AllocationActive
	// AllocationError ("error"): no node was suitable; the allocation's last_error says why.
	AllocationError
)

var allocationWords = newVocabulary("allocation state", []string{
	NoAllocation:     "none",
	Allocating:       "allocating",
	AllocationActive: "active",
	AllocationError:  "error",
})

// ParseAllocation returns the allocation state of a word. "none" and the empty text are
// NoAllocation. Any other word is an [*UnknownError].
func ParseAllocation(word string) (Allocation, error) {
	return parse[Allocation](allocationWords, word)
}

// String returns Ironic's word for the state, or a form like "Allocation(99)" for a
// number that is none.
func (a Allocation) String() string { return allocationWords.word(uint8(a), "Allocation") }

// MarshalText returns String. A number that is no state is an [*UnknownError].
func (a Allocation) MarshalText() ([]byte, error) { return marshalText(allocationWords, uint8(a), a) }

// UnmarshalText is [ParseAllocation]; a keeps its value on error.
func (a *Allocation) UnmarshalText(text []byte) error {
	return setWord(a, allocationWords, string(text))
}

// MarshalJSON returns the word as a JSON string, NoAllocation as null.
func (a Allocation) MarshalJSON() ([]byte, error) { return marshalJSON(allocationWords, uint8(a), a) }

// UnmarshalJSON accepts the output of MarshalJSON, and for NoAllocation "none", its form as
// a map key, and ""; a keeps its value on error.
func (a *Allocation) UnmarshalJSON(data []byte) error {
	return unmarshalJSON(a, allocationWords, data)
}

// Value implements [driver.Valuer]: the word, NULL for NoAllocation.
func (a Allocation) Value() (driver.Value, error) { return sqlValue(allocationWords, uint8(a), a) }

// Scan implements [database/sql.Scanner]: it accepts the output of Value, as a string or
// as bytes, and "none"; a keeps its value on error.
func (a *Allocation) Scan(src any) error { return scan(a, allocationWords, src) }
