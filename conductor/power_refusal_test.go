// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestAPowerStateThatCannotBeRequestedIsRefusedByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		err := f.SetPower(f.ctx, n.UUID, states.PowerError, 0)
		require.ErrorIs(t, err, conductor.Invalid)
		require.EqualError(t, err, `"error" is no power state that can be requested`)
	})
}
