// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// comparePowerRequests requests every power state in every provision state, for a node
// that is on and one that is off, and compares the result with [powersync.Accept] and its siblings.
func comparePowerRequests(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: power requests, and the power state recorded after them"}
	uuid, err := i.newNode(ctx)
	if err != nil {
		return c, err
	}
	if _, err := i.database.write(uuid, columns{"power_interface": "fake"}); err != nil {
		return c, err
	}
	for state := range i.table().States().All() {
		for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
			for target := states.PowerOn; target <= states.PowerError; target++ {
				want, err := i.requestPower(ctx, uuid, i.inState(state), power, target)
				if err != nil {
					return c, err
				}
				got, err := requestPower(state, power, target)
				if err != nil {
					return c, err
				}
				c.compare(want, got, "%v of a node in %v that is at %v", target, state, power)
			}
		}
	}
	return c, nil
}

// requestPower requests a power state from Ironic, and returns the status of the answer
// and the power state that is recorded in the end.
func (i *Ironic) requestPower(
	ctx context.Context, uuid string, at machine.Node, power, target states.Power,
) (string, error) {
	set := columnsOf(at)
	set["power_state"] = power
	if _, err := i.database.write(uuid, set); err != nil {
		return "", err
	}
	answer, err := i.Client.Power(ctx, i.newest(), uuid, target)
	if err != nil {
		return "", err
	}
	return sleep.Until(ctx, 2*time.Millisecond, func() (string, bool, error) {
		r, err := i.database.read(uuid)
		return fmt.Sprintf("%d, then %v", answer.Status, r.Power), r.Reservation == "" && r.TargetPower == states.NoPower, err
	})
}

// requestPower is [Ironic.requestPower] for the rules of package powersync, on hardware
// that reaches a requested power state at once.
func requestPower(state states.State, power, target states.Power) (string, error) {
	r := powersync.Record{ID: "node", ProvisionState: state, Power: power}
	accepted, err := powersync.Accept(r, target)
	var refused *powersync.RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%d, then %v", http.StatusBadRequest, r.Power), nil
	case err != nil:
		return "", err
	}
	reading := powersync.Reading{Power: power}
	asked, err := powersync.DecideRequest(target, reading)
	if err != nil {
		return "", err
	}
	if asked != states.NoPower {
		reading.Power = asked.Target()
	}
	if reading.Power != accepted.TargetPower {
		err = powersync.ErrNotReached
	}
	r, _ = powersync.SettleRequest(accepted, target, err)
	return fmt.Sprintf("%d, then %v", http.StatusAccepted, r.Power), nil
}
