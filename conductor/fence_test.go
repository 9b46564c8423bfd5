// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// unfenced returns an error if requests to the hardware need no permission with the context of an operation. The
// doubles of this package call it in each operation that a conductor must not do without the node's reservation.
func unfenced(ctx context.Context) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if conductor.Permit(ended) == nil { // it returns the context's error without asking the membership
		return errors.New("the operation needs no permission")
	}
	return nil
}

// TestAnOperationWithinAStepWaitsUntilTheMembershipIsCertain suspends a conductor between two
// operations of one step.
func TestAnOperationWithinAStepWaitsUntilTheMembershipIsCertain(t *testing.T) {
	for _, kept := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			members := &hung{}
			f := start(t, func(c *conductor.Config) {
				hardware := simHardware{c.Hardware["fake-hardware"].(*conductor.Fake), &world{}}
				c.Membership, c.Hardware = members, map[string]conductor.Hardware{"fake-hardware": hardware}
				c.ShutdownTimeout = time.Second
			})
			var done []string
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation != "read power" {
					done = append(done, operation)
					members.out.Store(operation == "power off")
				}
				return nil
			})
			n := f.node(states.Available)
			f.request(n, "active")
			bubble.Sleep(time.Minute)
			require.Equal(t, []string{"deploy.deploy", "power off"}, done)
			if !kept {
				return // the conductor ends, and with it the work's context
			}
			members.out.Store(false)
			bubble.Sleep(time.Second)
			require.Equal(t, states.Active, f.settle(n).ProvisionState)
			require.Equal(t, []string{"deploy.deploy", "power off", "power on"}, done)
		})
	}
}

func TestAContextOfNoConductorNeedsNoPermission(t *testing.T) {
	require.NoError(t, conductor.Permit(t.Context()))
}
