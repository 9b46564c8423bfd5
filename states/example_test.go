// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/states"
)

func ExampleParse() {
	s, err := states.Parse("wait call-back")
	fmt.Println(s == states.DeployWait, err)

	_, err = states.ParsePower("On")
	var unknown *states.UnknownError
	if errors.As(err, &unknown) {
		fmt.Println(unknown.Known[0])
	}
	fmt.Println(err)
	// Output:
	// true <nil>
	// power on
	// unknown power state "On"; known: power on, power off, rebooting, soft rebooting, soft power off, error
}

func ExampleState_MarshalJSON() {
	node := struct {
		State  states.State `json:"provision_state"`
		Target states.State `json:"target_provision_state"`
	}{states.Active, states.NoState}
	data, err := json.Marshal(node)
	fmt.Println(string(data), err)
	// Output: {"provision_state":"active","target_provision_state":null} <nil>
}

func ExampleTable_Next() {
	table := states.Latest().Table()
	fmt.Println(table.Next(states.Enroll, states.EventManage))
	fmt.Println(table.Next(states.Enroll, states.EventDeploy))
	fmt.Println(table.Target(states.Verifying))
	// Output:
	// verifying true
	// none false
	// manageable
}

func ExampleTable_Work() {
	work := states.Latest().Table().Work(states.CleanWait)
	fmt.Println(work, work.InProgress())
	fmt.Println(work.Working(), "or", work.Failed())
	// Output:
	// clean {cleaning, clean wait, clean hold}
	// cleaning or clean failed
}

func ExampleWork() {
	for work := range states.AllWorks() {
		fmt.Println(work, work.States())
	}
	// Output:
	// verify {verifying}
	// inspect {inspecting, inspect failed, inspect wait}
	// clean {cleaning, clean wait, clean failed, clean hold}
	// deploy {wait call-back, deploying, deploy failed, deploy hold}
	// adopt {adopting, adopt failed}
	// rescue {rescue failed, rescue wait, rescuing}
	// unrescue {unrescue failed, unrescuing}
	// service {servicing, service wait, service failed, service hold}
	// delete {deleting, error}
}

func ExampleTable_Request() {
	table := states.Bobcat.Table()
	event, err := table.Request(states.Available, "active", 81)
	fmt.Println(event, err)

	_, err = table.Request(states.Active, "service", 81)
	fmt.Println(err)

	_, err = table.Request(states.Enroll, "active", 81)
	fmt.Println(err)
	var refusal *states.RequestError
	if errors.As(err, &refusal) {
		fmt.Println(refusal.HTTPStatus() == http.StatusBadRequest, refusal.Allowed)
	}
	// Output:
	// deploy <nil>
	// request "service" in state "active" with API version 1.81: API version not acceptable; acceptable: 1.87 to 1.87
	// request "active" in state "enroll" with API version 1.81: not allowed in the node's state; allowed: manage
	// true [manage]
}

func ExampleSet() {
	table := states.Latest().Table()
	for s := range table.Servicing().Minus(table.Failed()).All() {
		fmt.Println(s)
	}
	moving := table.Unstable().Union(table.Failed())
	fmt.Println(moving.Has(states.Cleaning), moving.Has(states.CleanHold))
	fmt.Println(table.Stable())
	// Output:
	// servicing
	// service wait
	// service hold
	// true false
	// {enroll, manageable, available, active, error, rescue}
}

func ExampleTable_Transitions() {
	for row := range states.Latest().Table().Transitions() {
		if row.From == states.InspectWait {
			fmt.Println(row)
		}
	}
	// Output:
	// inspect wait --done--> manageable
	// inspect wait --resume--> inspecting
	// inspect wait --fail--> inspect failed
	// inspect wait --abort--> inspect failed
}

// The history of the machine: what each series brought.
func ExampleSeries() {
	series, err := states.ParseSeries("antelope")
	fmt.Println(series, series.MaxAPIVersion(), err)
	fmt.Println(series < states.Latest(), series.Table().States().Has(states.ServiceHold))
	// Output:
	// 2023.1 1.82 <nil>
	// true false
}

func ExampleAllSeries() {
	var before states.Set
	for s := range states.AllSeries() {
		now := s.Table().States()
		if brought := now.Minus(before); brought.Len() > 0 && before.Len() > 0 {
			fmt.Println(s, brought)
		}
		before = now
	}
	// Output:
	// liberty {enroll, verifying, clean wait}
	// newton {adopting, adopt failed}
	// queens {rescue, rescue failed, rescue wait, rescuing, unrescue failed, unrescuing}
	// rocky {inspect wait}
	// 2023.2 {deploy hold, clean hold, servicing, service wait, service failed, service hold}
}

func ExampleCreated() {
	shown, warning := states.Created(states.APIVersion(81), states.Kilo.MaxAPIVersion())
	fmt.Println(shown)
	fmt.Println(strings.ReplaceAll(warning, ": ", ":\n"))

	shown, warning = states.Created(states.APIVersion(81), states.Latest().MaxAPIVersion())
	fmt.Printf("%v %q\n", shown, warning)
	// Output:
	// available
	// the server's API 1.6 is older than 1.11:
	// it creates nodes available for use at once, not in enroll, and does not verify their credentials
	// enroll ""
}

// The requests that make a new node available depend on the API version of the client:
// from 1.11 on, a node is created in enroll.
func ExampleAPIVersion_InitialState() {
	table := states.Latest().Table()
	for _, version := range []states.APIVersion{10, 11} {
		state := version.InitialState()
		fmt.Printf("at %v a node is created in %v\n", version, state)
		for _, verb := range []string{"manage", "provide"} {
			if state == states.Available {
				break
			}
			event, err := table.Request(state, verb, version)
			if err != nil {
				fmt.Println(err)
				return
			}
			work, _ := table.Next(state, event)
			state = table.Target(work)
			fmt.Printf("%s leads through %v to %v\n", verb, work, state)
		}
	}
	// Output:
	// at 1.10 a node is created in available
	// at 1.11 a node is created in enroll
	// manage leads through verifying to manageable
	// provide leads through cleaning to available
}

// A client lists nodes of a server that is newer than this module.
func ExampleRawState() {
	var nodes []struct {
		State states.RawState `json:"provision_state"`
	}
	list := `[{"provision_state": "enroll"}, {"provision_state": "levitating"}]`
	fmt.Println(json.Unmarshal([]byte(list), &nodes))
	for _, n := range nodes {
		fmt.Println(n.State, n.State.State == states.UnknownState)
	}
	// Output:
	// <nil>
	// enroll false
	// levitating true
}

func ExampleState_Description() {
	for _, paragraph := range strings.Split(states.InspectFail.Description(), "\n\n") {
		fmt.Println(paragraph)
	}
	fmt.Println(states.EventUnhold.Description())
	// Output:
	// The inspection failed, timed out or was aborted, and `last_error` says why. Since Kilo.
	// A client moves the node: `inspect` tries again, and `manage` leads to `manageable` without an inspection.
	// An operator reads `last_error` and removes the cause before the next try.
	// A client resumes work that a hold step has stopped. Since 2023.2.
}

func ExampleTable_Phase() {
	table := states.Latest().Table()
	for _, s := range []states.State{states.Available, states.Deploying, states.DeployWait, states.DeployHold, states.DeployFail} {
		fmt.Printf("%v: %v\n", s, table.Phase(s))
	}
	// Output:
	// available: stable
	// deploying: working
	// wait call-back: waiting
	// deploy hold: hold
	// deploy failed: failed
}

// The rules of the API and of Nova for a node that is being deployed.
func ExampleTable_CanUpdate() {
	table := states.Latest().Table()
	fmt.Println(table.CanUpdate(states.Deploying, states.Active, 115))
	fmt.Println(states.CanSchedule(states.Deploying, states.PowerOn, false, ""))
	// Output:
	// false
	// false
}
