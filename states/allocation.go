package states

// Allocation is the state of an allocation, a request that Ironic pick a node:
// allocating, then active or error. The zero value is [NoAllocation].
// Allocations came with Stein and API version 1.52.
//
// As with [State], the numbers may change between releases; the words do not.
// Source: ironic/common/states.py.
type Allocation uint8

const (
	// NoAllocation is the absence of a state, "none" as text.
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

// String returns Ironic's word for the allocation state, or a form like
// "Allocation(99)" for a number that is none.
func (a Allocation) String() string { return allocationWords.word(uint8(a), "Allocation") }

// MarshalText returns String. A number that is no allocation state is an [*UnknownError].
func (a Allocation) MarshalText() ([]byte, error) { return marshalText(allocationWords, uint8(a), a) }

// UnmarshalText is [ParseAllocation]; a keeps its value on error.
func (a *Allocation) UnmarshalText(text []byte) error {
	return setWord(a, allocationWords, string(text))
}
