// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/states"
)

// showStates answers GET /v1/nodes/NODE/states.
func showStates(r *rest.Request, n *node) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		objects.WriteNodeFields(r, w, n, []string{
			"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
			"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot",
		})
	}), nil
}

// setPower answers PUT /v1/nodes/NODE/states/power.
func setPower(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target", "timeout")
	target := a.Need("target").Word("target")
	timeout, hasTimeout := a.Integer("timeout")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	power, _ := states.ParsePower(target) // NoPower for another word
	soft := power == states.PowerSoftRebooting || power == states.PowerSoftOff
	switch {
	case (soft || timeout != 0) && r.Version < since.SoftPower:
		return rest.Answer{}, fault.NotAcceptable
	case hasTimeout && timeout < 1:
		return rest.Answer{}, fault.Invalid("timeout has to be positive integer")
	case power == states.NoPower || power == states.PowerError:
		return rest.Answer{}, fault.State(fault.Show(target), r.Param(0), fault.Power(n.Power))
	case errors.Is(r.Conductor.Rules().Power(n.Fields(), power), conductor.NotAllowed):
		return rest.Answer{}, fault.State(target, r.Param(0), n.ProvisionState.String())
	}
	if err := r.Conductor.SetPower(r.Context(), n.UUID, power,
		time.Duration(min(int64(timeout), int64(math.MaxInt64/time.Second)))*time.Second); err != nil {
		return rest.Answer{}, err
	}
	return accepted(r), nil
}

// accepted returns the response 202 to a request whose work continues. Its Location header is
// the path of the node's states.
func accepted(r *rest.Request) rest.Answer {
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + r.Param(0) + "/states"}
}
