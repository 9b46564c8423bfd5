// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/states"
)

// A refusal is an answer of the API that does not come from the state machine:
// [states.Table.Request] accepts the request and leaves the other checks to its caller.
type refusal struct {
	reason string // why the API refuses
	state  states.State
	set    columns        // of the node, in addition to those of a node without work
	body   map[string]any // of the request
	status int
	text   string // part of the fault
}

// refusals are the refusals that Ironic's API can be made to give with fake hardware.
var refusals = []refusal{
	{
		"clean needs clean_steps", states.Manageable, nil,
		map[string]any{"target": "clean"},
		http.StatusBadRequest, `"clean_steps" is required`,
	},
	{
		"a clean step needs an interface", states.Manageable, nil,
		map[string]any{"target": "clean", "clean_steps": []map[string]string{{"step": "clean"}}},
		http.StatusBadRequest, "Invalid clean_steps",
	},
	{
		"clean_steps go with clean alone", states.Available, nil,
		map[string]any{"target": "active", "clean_steps": []map[string]string{{"interface": "deploy", "step": "clean"}}},
		http.StatusBadRequest, `"clean_steps" is only valid`,
	},
	{
		"rescue needs a rescue_password", states.Active, nil,
		map[string]any{"target": "rescue"},
		http.StatusBadRequest, `"rescue_password" is required`,
	},
	{
		"the rescue_password must not be blank", states.Active, nil,
		map[string]any{"target": "rescue", "rescue_password": "  "},
		http.StatusBadRequest, `"rescue_password" is required`,
	},
	{
		"rescue_password goes with rescue alone", states.Active, nil,
		map[string]any{"target": "deleted", "rescue_password": "secret"},
		http.StatusBadRequest, `"rescue_password" is only valid`,
	},
	{
		"a node in maintenance is not deployed", states.Available, columns{"maintenance": 1},
		map[string]any{"target": "active"},
		http.StatusBadRequest, "maintenance",
	},
	{
		"a node in maintenance is not rebuilt", states.Active, columns{"maintenance": 1},
		map[string]any{"target": "rebuild"},
		http.StatusBadRequest, "maintenance",
	},
	{
		"a protected node is not torn down", states.Active, columns{"protected": 1},
		map[string]any{"target": "deleted"},
		http.StatusForbidden, "protected",
	},
	{
		"a protected node is not rebuilt", states.Active, columns{"protected": 1},
		map[string]any{"target": "rebuild"},
		http.StatusForbidden, "protected",
	},
	{
		"a retired node is not provided", states.Manageable, columns{"retired": 1},
		map[string]any{"target": "provide"},
		http.StatusBadRequest, "retired",
	},
	{
		"the driver cannot inspect", states.Manageable, columns{"inspect_interface": "no-inspect"},
		map[string]any{"target": "inspect"},
		http.StatusBadRequest, "does not support",
	},
	{
		"the driver cannot rescue", states.Active, columns{"rescue_interface": "no-rescue"},
		map[string]any{"target": "rescue", "rescue_password": "secret"},
		http.StatusInternalServerError, "does not support", // an error that Ironic's code does not expect
	},
	{
		"the node is reserved", states.Available, columns{"reservation": "somebody"},
		map[string]any{"target": "manage"},
		http.StatusConflict, "locked",
	},
}

// compareRefusals compares each refusal with Ironic's answer, and checks that the state
// machine accepts the request.
func compareRefusals(ctx context.Context, i *Ironic) (Comparison, error) {
	c := Comparison{Name: "API: refusals that are not the state machine's, as listed"}
	for _, r := range refusals {
		uuid, err := i.nodeIn(ctx, inState(r.state), r.set)
		if err != nil {
			return c, err
		}
		answer, err := i.Client.Provision(ctx, newest, uuid, r.body)
		if err != nil {
			return c, err
		}
		got := fmt.Sprint(answer.Status)
		if !strings.Contains(answer.Fault, r.text) {
			got += " " + answer.Fault
		}
		c.compare(got, fmt.Sprint(r.status), "%s", r.reason)
		_, err = Series.Table().Request(r.state, r.body["target"].(string), newest)
		c.compare(err, nil, "%s, and the state machine", r.reason)
	}
	return c, nil
}
