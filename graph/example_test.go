// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func ExampleDiagram_WriteMermaid() {
	d := graph.Diagram{
		Table: states.Latest().Table(),
		Only:  states.SetOf(states.Enroll, states.Verifying, states.Manageable),
		Title: "Enrolment",
	}
	if err := d.WriteMermaid(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ---
	// title: "Enrolment"
	// config:
	//   themeCSS: "path[data-id=edge0]{stroke:#0b63c4} path[data-id=edge1],path[data-id=edge2]{stroke:#8c959f;stroke-dasharray:4 3}"
	// ---
	// stateDiagram-v2
	//     accTitle: Enrolment
	//     accDescr: 3 states and 3 transitions. Parts: enrolment.
	//     direction TB
	//     state "Enrolment" as part_enrolment {
	//         state "enroll" as enroll
	//         state "verifying" as verifying
	//     }
	//     state "manageable" as manageable
	//     enroll --> verifying : manage (via API)
	//     verifying --> manageable : done
	//     verifying --> enroll : fail
	//     classDef stable stroke-width:3px
	//     class enroll, manageable stable
}

// The diagram highlights a live node's history and its current state.
func ExampleDiagram() {
	m, err := machine.New(machine.Config{
		Table:   states.Latest().Table(),
		Node:    machine.Node{State: states.Enroll},
		History: 100,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Fire(context.Background(), states.EventManage); err != nil {
		fmt.Println(err)
	}
	d := graph.Diagram{
		Table:   states.Latest().Table(),
		Only:    states.SetOf(states.Enroll, states.Verifying),
		Current: m.Node().State,
	}
	for _, step := range m.History() {
		d.Path = append(d.Path, states.Transition{From: step.From.State, Event: step.Event, To: step.To.State})
	}
	if err := d.WriteMermaid(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ---
	// title: "Ironic provisioning states: 2026.2"
	// config:
	//   themeCSS: "path[data-id=edge1]{stroke:#8c959f;stroke-dasharray:4 3} path[data-id=edge0]{stroke:#d9730d}"
	// ---
	// stateDiagram-v2
	//     accTitle: Ironic provisioning states: 2026.2
	//     accDescr: 2 states and 2 transitions. Parts: enrolment.
	//     direction TB
	//     state "Enrolment" as part_enrolment {
	//         state "enroll" as enroll
	//         state "verifying" as verifying
	//     }
	//     enroll --> verifying : taken manage (via API)
	//     verifying --> enroll : fail
	//     classDef stable stroke-width:3px
	//     class enroll stable
	//     classDef taken stroke:#d9730d
	//     class enroll, verifying taken
	//     classDef current fill:#ffe7b8,stroke-width:3px
	//     class verifying current
}

func ExampleThrough() {
	path, err := graph.Through(states.Latest().Table(), states.Enroll, states.Verifying, states.Enroll)
	if err != nil {
		fmt.Println(err)
	}
	for _, step := range path {
		fmt.Println(step)
	}
	_, err = graph.Through(states.Latest().Table(), states.Enroll, states.Active)
	fmt.Println(err)
	// Output:
	// enroll --manage--> verifying
	// verifying --fail--> enroll
	// no such transition: from "enroll" to "active" in 2026.2
}
