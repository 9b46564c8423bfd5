// SPDX-License-Identifier: Apache-2.0

// Package shown has the names by which old API versions show states.
package shown

import (
	"iter"

	"github.com/ironstate/ironstate/states"
)

// Before returns the states that version v of the API is the first to show by their own names, each with the name that
// the version before shows, or "null".
func Before(v states.APIVersion) iter.Seq2[states.State, string] {
	return func(yield func(states.State, string) bool) {
		for s := range states.AllStates() {
			was := (v - 1).Show(s)
			if was == s || v.Show(s) != s {
				continue
			}
			as := was.String()
			if was == states.NoState {
				as = "null"
			}
			if !yield(s, as) {
				return
			}
		}
	}
}
