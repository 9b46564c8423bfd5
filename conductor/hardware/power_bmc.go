// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// bmcPower is the power interface "redfish" or "ipmitool".
type bmcPower struct{ *bmcs }

// Verify implements [Verifier].
func (b bmcPower) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return ask(ctx, b.bmcs, n, (*bmc.Driver).Verify)
}

// PowerState implements [Power].
func (b bmcPower) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	return ask(ctx, b.bmcs, n, (*bmc.Driver).PowerState)
}

// SetPower implements [Power].
func (b bmcPower) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return b.do(n, func(d *bmc.Driver) error { return d.SetPower(ctx, n.UUID, power) })
}
