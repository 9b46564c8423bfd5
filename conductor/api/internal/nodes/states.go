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
var showStates = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		objects.WriteNodeFields(q.Request, w, q.node, []string{
			"console_enabled", "last_error", "power_state", "provision_state", "target_power_state",
			"target_provision_state", "provision_updated_at", "raid_config", "target_raid_config", "boot_mode", "secure_boot",
		})
	}), nil
})

var (
	powerTarget  = need(word("target"))
	powerTimeout = integer("timeout") // in seconds
)

// setPower answers PUT /v1/nodes/NODE/states/power.
var setPower = checks{
	arguments(powerTarget, powerTimeout), nodeExists, powerMayChange,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	power, _ := states.ParsePower(powerTarget.of(q))
	bounded := time.Duration(min(int64(powerTimeout.of(q)), int64(math.MaxInt64/time.Second))) * time.Second
	return accepted(q.Request), q.Conductor.SetPower(q.Context(), q.node.UUID, power, bounded)
})

// powerMayChange refuses a power state that the version or the node does not allow.
func powerMayChange(q *request) error {
	target, timeout := powerTarget.of(q), powerTimeout.of(q)
	power, _ := states.ParsePower(target) // NoPower for another word
	soft := power == states.PowerSoftRebooting || power == states.PowerSoftOff
	switch {
	case (soft || timeout != 0) && q.Version < since.SoftPower:
		return fault.NotAcceptable
	case powerTimeout.given(q) && timeout < 1:
		return fault.Invalid("timeout has to be positive integer")
	case power == states.NoPower || power == states.PowerError:
		return fault.State(fault.Show(target), q.Param(0), fault.Power(q.node.Power))
	case errors.Is(q.Conductor.Rules().Power(q.node.Fields(), power), conductor.NotAllowed):
		return fault.State(target, q.Param(0), q.node.ProvisionState.String())
	default:
		return nil
	}
}

// accepted returns the response 202 to a request whose work continues. Its Location header is
// the path of the node's states.
func accepted(r *rest.Request) rest.Answer {
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + r.Param(0) + "/states"}
}
