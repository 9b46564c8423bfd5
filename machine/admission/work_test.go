// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestEveryWorkHasAnEntry fails for a work, or a state of no work, that this package does not know.
func TestEveryWorkHasAnEntry(t *testing.T) {
	for w := range states.AllWorks() {
		require.Contains(t, works, w, "machine/admission/work.go has no entry for it")
	}
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().Minus(table.Stable()).All() {
			require.NotEqual(t, states.NoWork, table.Work(s), "%v of %v is the state of no work", s, series)
		}
	}
}
