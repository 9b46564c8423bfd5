// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/looplab/fsm"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/machine/looplab"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// The README's tour.
func Example_tour() {
	table := states.Latest().Table()
	next, ok := table.Next(states.Enroll, states.EventManage)
	fmt.Println(next, ok)

	event, err := table.Request(states.Available, "active", 81)
	fmt.Println(event, err)
	_, err = table.Request(states.Deploying, "abort", 81)
	fmt.Println(err)

	step, err := plan.Next(table, machine.Node{State: states.Enroll}, plan.Desired{Goal: plan.In(states.Active), Version: 81})
	fmt.Println(step.Action == plan.Send, step.Verb, err)

	fields := admission.NodeFields{State: states.Cleaning, Reserved: true}
	_, err = admission.Rules{Table: table}.Provision(fields, "manage", 81)
	fmt.Println(errors.Is(err, admission.Locked), err)
	ended, err := machine.Node{State: fields.State}.Request(table, "manage", 81)
	fmt.Println(ended.State, err)

	value := machine.Node{State: states.Enroll}
	value, err = value.Request(table, "manage", 81)
	text, _ := json.Marshal(value)
	fmt.Println(string(text), err)
	value, err = value.Report(table, states.EventFail, "no answer")
	text, _ = json.Marshal(value)
	fmt.Println(string(text), err)

	// Output:
	// verifying true
	// deploy <nil>
	// request "abort" in state "deploying" with API version 1.81: not allowed in the node's state; allowed: nothing
	// true manage <nil>
	// true manage is refused: node is locked (reservation)
	// manageable <nil>
	// {"provision_state":"verifying","target_provision_state":"manageable","last_error":null} <nil>
	// {"provision_state":"enroll","target_provision_state":null,"last_error":"no answer"} <nil>
}

// The README's service on looplab.
func Example_looplab() {
	ctx, table := context.Background(), states.Latest().Table()
	verifier := verify.Func(func(context.Context) (states.Power, error) { return states.PowerOn, nil })

	f, err := looplab.New(machine.Config{Table: table, Node: machine.Node{State: states.Enroll}}, fsm.Callbacks{
		"enter_state": func(_ context.Context, e *fsm.Event) { fmt.Println(e.Src, "->", e.Dst) },
	})
	if err != nil {
		panic(err)
	}
	power, err := verify.Manage(ctx, f.Machine(), verifier)
	fmt.Println(power, err)
	err = f.Event(ctx, "provide")
	fmt.Println(err)
	// Output:
	// enroll -> verifying
	// verifying -> manageable
	// power on <nil>
	// manageable -> cleaning
	// <nil>
}

// The README's live node, with a BMC that has another password.
func Example_verification() {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	store := func(_ context.Context, t machine.Transition) error {
		fmt.Println("store", t.To.State)
		return nil
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "last_error" {
				return slog.Attr{}
			}
			return a
		},
	})))

	node, err := machine.New(machine.Config{
		Table: states.Latest().Table(),
		Node:  machine.Node{State: states.Enroll},
		Name:  "rack1-u7",
		Save:  []machine.Hook{store},
		Enter: []machine.Hook{machine.Log(slog.Default())},
	})
	if err != nil {
		panic(err)
	}
	verifier, err := bmc.New(bmc.Config{
		Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool,
		User: bmctest.DefaultUser, Password: secret.New("another"),
	})
	if err != nil {
		panic(err)
	}

	_, err = verify.Manage(context.Background(), node, verifier)
	fmt.Println(errors.Is(err, verify.Credentials), strings.Contains(node.Node().LastError, "credentials refused"))
	// Output:
	// store verifying
	// level=INFO msg="node moved" node=rack1-u7 event=manage from=enroll to=verifying target=manageable status=start
	// store enroll
	// level=INFO msg="node moved" node=rack1-u7 event=fail from=verifying to=enroll target=none status=error
	// true true
}
