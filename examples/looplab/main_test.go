// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestNothingIsStoredOnceTheContextHasEnded(t *testing.T) {
	s, err := newService(machine.Node{State: states.Enroll})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.save(ctx, machine.Transition{To: machine.Node{State: states.Verifying}}), context.Canceled)
	require.Empty(t, s.record)
}
