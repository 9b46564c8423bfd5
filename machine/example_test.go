package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func ExampleNode_Apply() {
	table := states.Latest().Table()
	node := machine.Node{State: states.Enroll}

	node, err := node.Apply(table, machine.Input{Event: states.EventManage, Work: true})
	if err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(node)

	_, err = node.Apply(table, machine.Input{Event: states.EventDeploy})
	fmt.Println(err)
	// Output:
	// {"provision_state":"verifying","target_provision_state":"manageable","last_error":null}
	// event "deploy" is not allowed in state "verifying"; allowed: done, fail
}

// A machine whose hook does the work of a state and fires the event that ends
// it.
func ExampleMachine() {
	var node *machine.Machine
	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Manageable},
		Name:  "rack1-u7",
		Save: []machine.SaveHook{func(_ context.Context, from, to machine.Node) error {
			fmt.Printf("UPDATE nodes SET provision_state = '%s' WHERE provision_state = '%s'\n", to.State, from.State)
			return nil
		}},
		Enter: []machine.Hook{func(ctx context.Context, t machine.Transition) error {
			if t.To.State != states.Inspecting {
				return nil
			}
			return node.Fire(ctx, states.EventDone)
		}},
	})
	if err != nil {
		panic(err)
	}

	err = node.Fire(context.Background(), states.EventInspect)
	fmt.Println(node.Node().State, err)
	// Output:
	// UPDATE nodes SET provision_state = 'inspecting' WHERE provision_state = 'manageable'
	// UPDATE nodes SET provision_state = 'manageable' WHERE provision_state = 'inspecting'
	// manageable <nil>
}

// What a service does at start with the nodes that it finds in its database.
func ExampleNode_Recover() {
	table := states.Latest().Table()
	for _, node := range []machine.Node{
		{State: states.Deploying, Target: states.Active},
		{State: states.DeployWait, Target: states.Active},
	} {
		in, err := node.Recover(table)
		if err != nil {
			panic(err)
		}
		if in.Event != states.NoEvent {
			node, err = node.Apply(table, in)
		}
		fmt.Println(node.State, node.LastError, err)
	}
	// Output:
	// deploy failed the work of state "deploying" was lost: the process that did it has died <nil>
	// wait call-back  <nil>
}

func ExampleEventError() {
	node, _ := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Active}})
	err := node.Fire(context.Background(), states.EventManage)

	var refused *machine.EventError
	if errors.As(err, &refused) {
		fmt.Println("allowed:", refused.Allowed)
	}
	// Output: allowed: [rebuild delete rescue service]
}
