// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"fmt"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// Ironic would refuse the next request for these fields of the record.
func ExampleNodeFields() {
	node := machine.Node{State: states.Available}
	for _, fields := range []plan.NodeFields{{}, {Reserved: true}, {Maintenance: true}} {
		step, err := plan.Next(states.Latest().Table(), node, plan.Desired{Goal: plan.In(states.Active), Version: 115, Fields: fields})
		fmt.Println(step, err)
	}
	// Output:
	// send active <nil>
	// wait: refused by reservation, before active <nil>
	// blocked: refused by maintenance, before active <nil>
}

// A restarted program continues with its stored progress, so that it does not repeat
// a retry.
func ExampleProgress() {
	table := states.Latest().Table()
	desired := plan.Desired{Goal: plan.In(states.Active), Version: 115, Policy: plan.Policy{Retries: 1}}
	failed := machine.Node{State: states.DeployFail, Target: states.Active}
	for range 2 {
		step, err := plan.Next(table, failed, desired)
		fmt.Println(step, err)
		stored, err := json.Marshal(step.Progress)
		fmt.Println(string(stored), err)
		desired.Progress = plan.Progress{}
		if err := json.Unmarshal(stored, &desired.Progress); err != nil {
			panic(err)
		}
	}
	// Output:
	// send active <nil>
	// {"tried":{"deploy":2}} <nil>
	// blocked: needs retry of deploying, before active <nil>
	// {"tried":{"deploy":2}} <nil>
}
