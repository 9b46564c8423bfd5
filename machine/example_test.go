// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

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
		Save: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			fmt.Printf("UPDATE nodes SET provision_state = '%s' WHERE provision_state = '%s'\n", t.To.State, t.From.State)
			return nil
		}},
		Enter: []machine.Hook{func(ctx context.Context, t machine.Transition) error {
			if t.To.State != states.Inspecting {
				return nil
			}
			return node.Report(ctx, states.EventDone, "")
		}},
	})
	if err != nil {
		panic(err)
	}

	err = node.Request(context.Background(), "inspect", 115)
	fmt.Println(node.Node().State, err)
	// Output:
	// UPDATE nodes SET provision_state = 'inspecting' WHERE provision_state = 'manageable'
	// UPDATE nodes SET provision_state = 'manageable' WHERE provision_state = 'inspecting'
	// manageable <nil>
}

// When a service starts, it fails the orphaned nodes in its database.
func ExampleNode_Orphaned() {
	table := states.Latest().Table()
	for _, node := range []machine.Node{
		{State: states.Deploying, Target: states.Active},
		{State: states.DeployWait, Target: states.Active},
	} {
		if lastError, ok := node.Orphaned(table); ok {
			var err error
			if node, err = node.Report(table, states.EventFail, lastError); err != nil {
				panic(err)
			}
		}
		fmt.Printf("%v %q\n", node.State, node.LastError)
	}
	// Output:
	// deploy failed "the work of state \"deploying\" was lost: the process that did it has died"
	// wait call-back ""
}

// A manual cleaning, from the client's request to its end, with a wait for the
// agent on the node.
func ExampleNode_Report() {
	table := states.Latest().Table()
	node := machine.Node{State: states.Manageable}

	node, err := node.Request(table, "clean", 115)
	fmt.Println(node.State, "to", node.Target, err)
	for _, event := range []states.Event{states.EventWait, states.EventResume, states.EventDone} {
		node, err = node.Report(table, event, "")
		fmt.Println(node.State, "to", node.Target, err)
	}
	// Output:
	// cleaning to manageable <nil>
	// clean wait to manageable <nil>
	// cleaning to manageable <nil>
	// manageable to none <nil>
}

// A request that the API refuses, and the status of its answer.
func ExampleNode_Request() {
	node := machine.Node{State: states.Deploying, Target: states.Active}
	_, err := node.Request(states.Latest().Table(), "abort", 115)
	fmt.Println(err)

	var refused *states.RequestError
	if errors.As(err, &refused) {
		fmt.Println(refused.HTTPStatus())
	}
	// Output:
	// request "abort" in state "deploying" with API version 1.115: not allowed in the node's state; allowed: nothing
	// 400
}

// A guard refuses to abort a step that must not be interrupted. The client gets an
// error, the step continues, and the node is unchanged.
func ExampleConfig_guard() {
	errNotAbortable := errors.New(`step "update_firmware" cannot be aborted`)
	abortable := false
	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.CleanWait, Target: states.Manageable},
		Guard: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			if t.Event == states.EventAbort && !abortable {
				return errNotAbortable
			}
			return nil
		}},
	})
	if err != nil {
		panic(err)
	}

	err = node.Request(context.Background(), "abort", 115)
	fmt.Println(errors.Is(err, errNotAbortable), node.Node().State)

	abortable = true // the next step began
	err = node.Request(context.Background(), "abort", 115)
	fmt.Println(err, node.Node().State, "to", node.Node().Target)
	// Output:
	// true clean wait
	// <nil> clean failed to manageable
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

// Two processes change one row: the save hook updates it only if it still has the
// revision that the machine's node was read with. After a conflict the row is read again.
func ExampleMachine_SetNode() {
	row, revision := machine.Node{State: states.Enroll}, 1
	conflict := errors.New("the row has changed")

	read := revision
	m, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  row,
		Token: &read,
		Save: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			read := t.Token.(*int)
			if *read != revision {
				return conflict
			}
			row, revision = t.To, revision+1
			*read = revision
			return nil
		}},
	})
	if err != nil {
		panic(err)
	}
	row, revision = machine.Node{State: states.Manageable}, revision+1 // by another process

	ctx := context.Background()
	err = m.Request(ctx, "manage", 115)
	fmt.Println(errors.Is(err, conflict), machine.Moved(err))

	again := revision
	fmt.Println(m.SetNode(ctx, row, &again))
	fmt.Println(m.Request(ctx, "provide", 115))
	fmt.Println(m.Request(ctx, "abort", 115) != nil, row.State, revision)
	// Output:
	// true false
	// <nil>
	// <nil>
	// true cleaning 3
}

// A cleaning ends after an operator has replaced it by another one.
func ExampleSequence() {
	m, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: machine.Node{State: states.Manageable}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	work := m.Sequence()
	fmt.Println(work.Request(ctx, "provide", 115), m.Node().State)

	_ = m.Report(ctx, states.EventFail, "aborted by an operator") // meanwhile, by other callers
	_ = m.Request(ctx, "manage", 115)
	_ = m.Request(ctx, "provide", 115)

	err = work.Report(ctx, states.EventDone, "")
	fmt.Println(errors.As(err, new(*machine.SupersededError)), m.Node().State)
	fmt.Println(err)
	// Output:
	// <nil> cleaning
	// true cleaning
	// another caller has moved the node since, it is now in state "cleaning"
}

// A service fails nodes whose wait has timed out.
func ExampleNode_TimedOut() {
	table := states.Latest().Table()
	node := machine.Node{State: states.CleanWait, Target: states.Available}
	if lastError, ok := node.TimedOut(time.Hour, machine.DefaultTimeouts()); ok {
		node, err := node.Report(table, states.EventFail, lastError)
		fmt.Println(node.State, node.LastError, err)
	}
	// Output: clean failed no call in 30m0s in state "clean wait" <nil>
}

// An enter hook fails after the node has moved.
func ExampleMoved() {
	m, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
		Enter: []machine.Hook{func(context.Context, machine.Transition) error { return errors.New("the queue is full") }},
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		err := m.Request(context.Background(), "manage", 115)
		fmt.Printf("%v %v\n%v\n", machine.Moved(err), m.Node().State, err)
	}
	// Output:
	// true verifying
	// enter hook at event "manage" (the node has moved): the queue is full
	// false verifying
	// request "manage" in state "verifying" with API version 1.115: not allowed in the node's state; allowed: nothing
}
