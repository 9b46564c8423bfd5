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

// MarshalJSON returns an object of the numbers that are not 0, by the word of the work.
func (t tries) MarshalJSON() ([]byte, error) {
	set := make(map[states.Work]uint8)
	for w := range states.AllWorks() {
		if t[w] > 0 {
			set[w] = t[w]
		}
	}
	return json.Marshal(set)
}

// UnmarshalJSON takes the output of MarshalJSON; t keeps its value on error.
func (t *tries) UnmarshalJSON(data []byte) error {
	var set map[states.Work]uint8
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	delete(set, states.NoWork)
	*t = tries{}
	for w, n := range set {
		t[w] = n
	}
	return nil
}
