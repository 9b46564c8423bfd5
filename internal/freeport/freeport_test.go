// SPDX-License-Identifier: Apache-2.0

package freeport_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/freeport"
)

func TestTheAddressesDifferAndAreFree(t *testing.T) {
	free, err := freeport.Addresses(3)
	require.NoError(t, err)
	require.Len(t, free, 3)
	for _, address := range free { // a listener of an earlier address is open
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		defer l.Close()
	}
}
