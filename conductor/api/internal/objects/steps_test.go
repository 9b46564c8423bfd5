// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestEveryWorkHasAnEntry(t *testing.T) {
	t.Parallel()
	for work := range states.AllWorks() {
		kind, ok := stepKinds[work]
		require.True(t, ok, "%v: conductor/api/internal/objects/nodesteps.go does not say what Ironic shows of its steps", work)
		require.Equal(t, kind.of != nil, kind.list != "" && kind.index != "" && kind.params != "", work)
	}
	require.Len(t, shownSteps, 3)
}
