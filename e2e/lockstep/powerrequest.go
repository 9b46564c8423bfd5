package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// comparePowerRequests requests every power state in every provision state, for a node
// that is on and one that is off, and compares the result with [powersync.Syncer.Set].
func comparePowerRequests(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: power requests, and the power state recorded after them"}
	uuid, err := i.newNode(ctx, Done)
	if err != nil {
		return c, err
	}
	if _, err := i.database.write(uuid, columns{"power_interface": "fake"}); err != nil {
		return c, err
	}
	for state := range Series.Table().States().All() {
		for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
			for target := states.PowerOn; target <= states.PowerError; target++ {
				theirs, err := i.requestPower(ctx, uuid, inState(state), power, target)
				if err != nil {
					return c, err
				}
				ours, err := requestPower(ctx, state, power, target)
				if err != nil {
					return c, err
				}
				c.compare(theirs, ours, "%v of a node in %v that is at %v", target, state, power)
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
	set := rest(at)
	set["power_state"] = power
	if _, err := i.database.write(uuid, set); err != nil {
		return "", err
	}
	answer, err := i.Client.Power(ctx, Series.MaxAPIVersion(), uuid, target)
	if err != nil {
		return "", err
	}
	for deadline := time.Now().Add(settleTimeout); ; {
		r, err := i.database.read(uuid)
		if err != nil {
			return "", err
		}
		if r.Reservation == "" && r.TargetPower == states.NoPower || time.Now().After(deadline) {
			return fmt.Sprintf("%d, then %v", answer.Status, r.Power), nil
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// requestPower is [Ironic.requestPower] for a Syncer.
func requestPower(ctx context.Context, state states.State, power, target states.Power) (string, error) {
	const id = "node"
	store := new(powersync.Memory)
	store.Put(powersync.Record{ID: id, ProvisionState: state, Power: power})
	syncer, err := powersync.New(powersync.Config{
		Store:  store,
		Driver: &obedient{power},
		Name:   HostName,
		Poll:   time.Millisecond,
	})
	if err != nil {
		return "", err
	}
	status := http.StatusAccepted
	err = syncer.Set(ctx, id, target, 0)
	var refused *powersync.RefusedError
	switch {
	case errors.As(err, &refused):
		status = http.StatusBadRequest
	case err != nil:
		return "", err
	}
	r, err := store.Load(ctx, id)
	return fmt.Sprintf("%d, then %v", status, r.Power), err
}

// obedient is a [powersync.Driver] that reaches a requested power state at once.
type obedient struct{ power states.Power }

func (d *obedient) PowerState(context.Context, string) (states.Power, error) { return d.power, nil }

func (d *obedient) SetPower(_ context.Context, _ string, power states.Power) error {
	d.power = power.Target()
	return nil
}
