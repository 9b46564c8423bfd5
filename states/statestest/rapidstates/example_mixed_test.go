// SPDX-License-Identifier: Apache-2.0

package rapidstates_test

import (
	"fmt"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest/rapidstates"
)

// Illegal events leave the node in its state.
func ExampleMixedWalk() {
	for _, step := range rapidstates.MixedWalk(states.Latest().Table()).Example(31) {
		fmt.Println(step)
	}
	// Output:
	// unrescue failed --inspect--> unrescue failed
	// unrescue failed --manage--> unrescue failed
	// unrescue failed --delete--> deleting
	// deleting --unrescue--> deleting
}
