// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"

	"github.com/bmc-toolbox/bmclib/v2"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
)

// bmclibPower is the power interface "bmclib".
type bmclibPower struct{ anyBMC }

// PowerState implements [Power].
func (b bmclibPower) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	newClient, password, err := b.client(ctx, n)
	if err != nil {
		return states.NoPower, err
	}
	return bmc.FromClient(newClient, password).Verify(ctx)
}

// bmclibPowers are the power states that can be requested, in bmclib's words.
var bmclibPowers = map[states.Power]string{states.PowerOn: "on", states.PowerOff: "off", states.PowerRebooting: "cycle"}

// SupportsPower implements [conductor.PowerLimiter].
func (bmclibPower) SupportsPower(_ *conductor.Node, power states.Power) bool {
	return bmclibPowers[power] != ""
}

// SetPower implements [Power].
func (b bmclibPower) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	word, known := bmclibPowers[power]
	if !known {
		return fmt.Errorf("the hardware type bmclib has no %s: %w", power, errors.ErrUnsupported)
	}
	return b.change(ctx, n, "set "+power.String(), func(ctx context.Context, c *bmclib.Client) (bool, error) {
		return c.SetPowerState(ctx, word)
	})
}
