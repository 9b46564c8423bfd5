// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// bmcPower is the power interface "redfish" or "ipmitool".
type bmcPower struct{ *bmcs }

// Verify implements [Verifier].
func (b bmcPower) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	v, _, err := b.verifier(n)
	if err != nil {
		return states.NoPower, err
	}
	return v.Verify(ctx)
}

// PowerState implements [Power].
func (b bmcPower) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return ask(ctx, b.bmcs, n, b.driver.PowerState)
}

// SetPower implements [Power].
func (b bmcPower) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return b.do(ctx, n, func(ctx context.Context) error { return b.driver.SetPower(ctx, n.UUID, power) })
}
