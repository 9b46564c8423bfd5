// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestChildrenAreNotWaitedForOnceTheWatchesHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
		require.NoError(t, err)
		c.fleet.end()
		_, err = c.fleet.childrenOf(t.Context(), "1be26c0b-03f2-4d2e-ae87-c02d7f33c123")
		require.ErrorIs(t, err, errShutdown)
	})
}
