// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// No conductor has the hardware type of the node any more, so that nobody owns it.
func TestTheReservationOfADeadConductorIsDroppedAlsoWithoutTheHardwareType(t *testing.T) {
	for from, to := range map[states.State]states.State{states.Deploying: states.DeployFail, states.Active: states.Active} {
		synctest.Test(t, func(t *testing.T) {
			store := &conductor.Memory{}
			seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"gone": &conductor.Fake{}}})
			require.NoError(t, err)
			n, err := seed.CreateNode(context.Background(), &conductor.Node{
				Driver: "gone", ProvisionState: from, Reservation: "beta", Claim: "a process that died", TargetPower: states.PowerOn,
			})
			require.NoError(t, err)
			alive, err := seed.CreateNode(context.Background(), &conductor.Node{
				Driver: "gone", ProvisionState: from, Reservation: "beta", Claim: otherMember,
			})
			require.NoError(t, err)
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
			got := f.settle(n)
			require.Equal(t, to, got.ProvisionState)
			require.Empty(t, got.Reservation)
			require.Equal(t, states.NoPower, got.TargetPower)
			require.EqualValues(t, 1, f.Stats().ReservationsDropped)
			_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
			require.NoError(t, err)
			require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
			require.Equal(t, "beta", f.settle(alive).Reservation)
		})
	}
}
