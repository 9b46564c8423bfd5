// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func ExampleRules() {
	rules := admission.Rules{Table: states.Antelope.Table()}
	node := admission.NodeFields{State: states.Manageable, Maintenance: true}
	event, err := rules.Provision(node, "provide", 82)
	fmt.Println(event, err)

	rules.NoProvisioningInMaintenance = true // [conductor]allow_provisioning_in_maintenance = False
	_, err = rules.Provision(node, "provide", 82)
	fmt.Println(err)
	// Output:
	// provide <nil>
	// provide is refused: node is in maintenance (maintenance)
}

func ExampleNodeFields() {
	rules := admission.Rules{}
	node := admission.NodeFields{State: states.Available, Associated: true}
	fmt.Println(rules.Delete(node))
	node.Maintenance = true
	fmt.Println(rules.Delete(node))
	// Output:
	// deletion is refused: node or instance is associated (instance_uuid)
	// <nil>
}

func ExampleRefusal() {
	node := admission.NodeFields{State: states.Active, Interfaces: map[string]string{"rescue": "no-rescue"}}
	_, err := admission.Rules{}.Provision(node, "rescue", 82)
	var refusal *admission.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Field, refusal.HTTPStatus())
	}
	// Output: rescue_interface 500
}

func ExampleReason() {
	node := admission.NodeFields{State: states.Active, Reserved: true}
	err := admission.Rules{}.Power(node, states.PowerOff)
	fmt.Println(errors.Is(err, admission.Locked), admission.Locked.HTTPStatus())
	// Output: true 409
}

func ExampleRules_Provision() {
	node := admission.NodeFields{State: states.Active, Protected: true}
	_, err := admission.Rules{}.Provision(node, "deleted", 82)
	fmt.Println(err)
	// Output: delete is refused: node is protected (protected)
}

func ExampleRules_Request() {
	node := admission.NodeFields{State: states.Deploying, Reserved: true}
	_, err := admission.Rules{}.Request(node, "provide", 82)
	fmt.Println(err)
	// Output: provide is refused: node is locked (reservation)
}

func ExampleRules_Start() {
	node := admission.NodeFields{State: states.Manageable, Retired: true}
	fmt.Println(admission.Rules{}.Start(node, states.EventProvide))
	// Output: provide is refused: node is retired (retired)
}

func ExampleRules_Validate() {
	node := admission.NodeFields{State: states.Manageable, Problems: map[string]error{"power": errors.New("no ipmi_address")}}
	fmt.Println(admission.Rules{}.Validate(node, states.EventInspect))
	// Output: inspect is refused: validation failed (power_interface): no ipmi_address
}
