package states

// Allocation is Ironic's word for the state of an allocation, a request that Ironic
// pick a node: allocating, then active or error. The zero value is none.
// Allocations came with Stein and API version 1.52.
//
// Source: ironic/common/states.py.
type Allocation string

// The states of an allocation.
const (
	Allocating       Allocation = "allocating" // a node is being looked for
	AllocationActive Allocation = "active"     // a node was found and is held
	AllocationError  Allocation = "error"      // no node was found, last_error says why
)
