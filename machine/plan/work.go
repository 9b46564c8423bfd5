// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"

	"github.com/ironstate/ironstate/states"
)

// maxWorks has room for each [states.Work].
const maxWorks = 16

// tries counts how often each work was started since the goal was last reached. Failed work that the plan did not start
// counts as tried once.
type tries [maxWorks]uint8

// MarshalJSON returns an object of the numbers that are not 0, by the state in which the conductor does the work.
func (t tries) MarshalJSON() ([]byte, error) {
	set := make(map[states.State]uint8)
	for w := range states.AllWorks() {
		if t[w] > 0 {
			set[w.Working()] = t[w]
		}
	}
	return json.Marshal(set)
}

// UnmarshalJSON takes the output of MarshalJSON; t keeps its value on error.
func (t *tries) UnmarshalJSON(data []byte) error {
	var set map[states.State]uint8
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	var decoded tries
	for s, n := range set {
		w := s.Work()
		if w == states.NoWork || w.Working() != s {
			unknown := &states.UnknownError{Kind: "work", Word: s.String()}
			for known := range states.AllWorks() {
				unknown.Known = append(unknown.Known, known.Working().String())
			}
			return unknown
		}
		decoded[w] = n
	}
	*t = decoded
	return nil
}
