// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// switched is a power interface that works.
type switched struct {
	plug
	on *atomic.Bool
}

func (s switched) PowerState(context.Context, *conductor.Node) (states.Power, error) {
	if s.on.Load() {
		return states.PowerOn, nil
	}
	return states.PowerOff, nil
}

func (s switched) SetPower(ctx context.Context, _ *conductor.Node, power states.Power) error {
	s.on.Store(power.Target() == states.PowerOn)
	return conductor.Permit(ctx)
}

// noting is a management interface that notes the boot device on the node, and then fails.
type noting struct{ hardware.Management }

func (noting) SetBootDevice(ctx context.Context, n *conductor.Node, device string, _ bool) error {
	n.DriverInternalInfo = map[string]any{"noted": device}
	return errors.Join(conductor.Permit(ctx), errors.New("the BMC hangs up"))
}

// deployedBy returns a node after a deployment with a management interface.
func deployedBy(t *testing.T, management hardware.Management) *conductor.Node {
	made, err := hardware.New(hardware.Config{}, hardware.Interfaces{
		Power:      []hardware.Power{switched{plug{"plug", new(error)}, new(atomic.Bool)}},
		Management: []hardware.Management{management},
	})
	require.NoError(t, err)
	s := start(t, hardware.Config{}, func(c *conductor.Config) { c.Hardware["plug"] = made })
	n := s.node(testMachine{driver: "plug", info: map[string]any{"plug_address": "x"}},
		func(n *conductor.Node) { n.ProvisionState = states.Available })
	return s.request(n, "active")
}

func TestAnErrorOfABootDeviceEndsTheWorkAlsoIfTheInterfaceHasNotedIt(t *testing.T) {
	n := deployedBy(t, noting{hardware.NoManagement()})
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "the BMC hangs up")
	require.Equal(t, "pxe", n.DriverInternalInfo["noted"])
}

// modeKeeper is a management interface whose BMC changes the boot mode beside the boot device, and does not keep that.
type modeKeeper struct{ hardware.Management }

func (modeKeeper) SetBootDevice(ctx context.Context, _ *conductor.Node, _ string, _ bool) error {
	return errors.Join(conductor.Permit(ctx), hardware.ErrBootMode)
}

func (modeKeeper) KeepBootMode(_ context.Context, n *conductor.Node, changed error) error {
	n.DriverInternalInfo = map[string]any{"mode": "asked for"}
	return fmt.Errorf("in vain: %w", changed)
}

func TestAManagementInterfaceKeepsTheBootModeOfAStep(t *testing.T) {
	n := deployedBy(t, modeKeeper{hardware.NoManagement()})
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "in vain: ")
	require.Equal(t, map[string]any{"mode": "asked for"}, n.DriverInternalInfo)
}
