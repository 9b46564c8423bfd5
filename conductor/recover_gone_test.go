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

// No conductor has the hardware type of the node any more, so that nobody owns it. A conductor fails the work that it
// had itself under its name; the work of another one may be its own again soon.
func TestTheReservationOfADeadConductorIsDroppedAlsoWithoutTheHardwareType(t *testing.T) {
	for _, test := range []struct {
		from    states.State
		by      string
		to      states.State
		dropped int
	}{
		{states.Deploying, "beta", states.DeployFail, 1}, {states.Deploying, "alpha", states.Deploying, 0},
		{states.Active, "beta", states.Active, 1}, {states.Active, "alpha", states.Active, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &conductor.Memory{}
			seed, err := conductor.New(conductor.Config{Store: store, Hardware: map[string]conductor.Hardware{"gone": &conductor.Fake{}}})
			require.NoError(t, err)
			n, err := seed.CreateNode(context.Background(), &conductor.Node{
				Driver: "gone", ProvisionState: test.from, Reservation: "beta", Claim: "a process that died", TargetPower: states.PowerOn,
			})
			require.NoError(t, err)
			alive, err := seed.CreateNode(context.Background(), &conductor.Node{
				Driver: "gone", ProvisionState: test.from, Reservation: "beta", Claim: otherMember,
			})
			require.NoError(t, err)
			f := start(t, func(c *conductor.Config) { c.Name, c.Store, c.SkipPowerSync = test.by, store, true })
			got := f.settle(n)
			require.Equal(t, test.to, got.ProvisionState)
			require.EqualValues(t, test.dropped, f.Stats().ReservationsDropped)
			if test.dropped == 0 {
				require.Equal(t, "beta", got.Reservation)
				return
			}
			require.Empty(t, got.Reservation)
			require.Equal(t, states.NoPower, got.TargetPower)
			_, err = f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
			require.NoError(t, err)
			require.NoError(t, f.DeleteNode(f.ctx, n.UUID))
			require.Equal(t, "beta", f.settle(alive).Reservation)
		})
	}
}
