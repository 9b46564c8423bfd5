// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestTheAllocationOfANodeIsTheOneThatHasIt(t *testing.T) {
	one := func(uuid string) conductor.Object {
		return &conductor.Allocation{ObjectMeta: conductor.ObjectMeta{UUID: uuid}}
	}
	both := []conductor.Object{one("lost"), one("now")}
	require.Equal(t, 1, indexOfNodes(&conductor.Node{AllocationUUID: "now"}, both))
	require.Equal(t, 0, indexOfNodes(&conductor.Node{AllocationUUID: "lost"}, both))
	require.Equal(t, 0, indexOfNodes(&conductor.Node{}, both), "no allocation has it yet")
}
