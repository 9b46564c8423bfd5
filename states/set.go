// SPDX-License-Identifier: Apache-2.0

package states

import (
	"iter"
	"math/bits"
	"strings"
)

// Set is a set of states, one bit per state. Sets are values: they compare with ==,
// copy by assignment and may be shared freely. The zero value is empty. NoState
// can be a member, as it is of [Table.DeleteAllowed] until Mitaka.
type Set struct {
	bits uint64
}

// knownBits has a bit for NoState and for each state.
const knownBits = 1<<numStates - 1

// SetOf returns the set of the given states. Numbers that are no state are left
// out.
func SetOf(members ...State) Set {
	var set Set
	for _, s := range members {
		set.bits |= 1 << s & knownBits
	}
	return set
}

// Has reports whether s is in the set.
func (set Set) Has(s State) bool { return set.bits>>s&1 != 0 }

// Len returns the number of states in the set.
func (set Set) Len() int { return bits.OnesCount64(set.bits) }

// All ranges over the states of the set, in Ironic's order.
func (set Set) All() iter.Seq[State] {
	return func(yield func(State) bool) {
		for left := set.bits; left != 0; left &= left - 1 {
			if !yield(State(bits.TrailingZeros64(left))) {
				return
			}
		}
	}
}

// Union returns the states that are in set or in other.
func (set Set) Union(other Set) Set { return Set{set.bits | other.bits} }

// Minus returns the states that are in set and not in other.
func (set Set) Minus(other Set) Set { return Set{set.bits &^ other.bits} }

// Intersect returns the states that are in both.
func (set Set) Intersect(other Set) Set { return Set{set.bits & other.bits} }

// String returns the words of the states in Ironic's order, as in
// "{enroll, manageable}".
func (set Set) String() string {
	words := make([]string, 0, set.Len())
	for s := range set.All() {
		words = append(words, s.String())
	}
	return "{" + strings.Join(words, ", ") + "}"
}
