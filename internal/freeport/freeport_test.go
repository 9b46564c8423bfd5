// SPDX-License-Identifier: Apache-2.0

package freeport

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheAddressesDifferAndAreFree(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		free, err := Addresses(3)
		require.NoError(t, err)
		require.Len(t, free, 3)
		for _, address := range free {
			require.False(t, seen[address], "an address of an earlier call")
			seen[address] = true
			l, err := net.Listen("tcp", address)
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
	}
}
