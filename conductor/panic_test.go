// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// panicking is hardware whose validation panics.
type panicking struct {
	*conductor.Fake
	panics, validates bool
}

func (p *panicking) Validate(n *conductor.Node) map[string]error {
	if p.panics && !p.validates {
		panic("a defect")
	}
	return p.Fake.Validate(n)
}

func (p *panicking) SupportsPower(*conductor.Node, states.Power) bool {
	if p.panics {
		panic("another defect")
	}
	return true
}

// A panic of a hardware type is an error of a request or of work. It keeps no worker, without which no request could
// work on the node again.
func TestAHardwareTypeWhoseValidationPanicsKeepsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &panicking{Fake: &conductor.Fake{}}
		f := start(t, func(c *conductor.Config) {
			c.Hardware, c.SkipPowerSync = map[string]conductor.Hardware{"fake-hardware": hardware}, true
		})
		n := f.create(conductor.Node{ProvisionState: states.Manageable, Driver: "fake-hardware", Power: states.PowerOff})
		hardware.panics = true
		require.ErrorContains(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0), "panic")
		hardware.validates = true
		require.PanicsWithValue(t, "another defect", func() { _ = f.SetPower(f.ctx, n.UUID, states.PowerOn, 0) }, "it ends the request alone")
		require.Zero(t, f.Stats().BusyWorkers)
		hardware.validates = false
		require.Empty(t, f.settle(n).Reservation)
		require.NoError(t, f.Provision(f.ctx, n.UUID, f.provision("provide")), "the work validates the node")
		failed := f.settle(n)
		require.Equal(t, states.CleanFail, failed.ProvisionState)
		require.Contains(t, failed.LastError, "panic")
		hardware.panics = false
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		require.Equal(t, states.PowerOn, f.settle(n).Power)
	})
}
