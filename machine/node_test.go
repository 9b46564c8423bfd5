// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestApply(t *testing.T) {
	const failed = "no power"
	tests := map[string]struct {
		node machine.Node
		in   machine.Input
		want machine.Node
	}{
		"manage out of enroll starts verification": {
			machine.Node{State: states.Enroll, LastError: failed},
			machine.Input{Event: states.EventManage, Work: true},
			machine.Node{State: states.Verifying, Target: states.Manageable},
		},
		"a target that is reached is cleared": {
			machine.Node{State: states.Verifying, Target: states.Manageable},
			machine.Input{Event: states.EventDone},
			machine.Node{State: states.Manageable},
		},
		"a node in a stable state has no target": {
			machine.Node{State: states.Verifying, Target: states.Manageable},
			machine.Input{Event: states.EventFail, LastError: failed},
			machine.Node{State: states.Enroll, LastError: failed},
		},
		"work that starts in a stable state keeps the target": {
			machine.Node{State: states.Verifying, Target: states.Manageable},
			machine.Input{Event: states.EventFail, Work: true},
			machine.Node{State: states.Enroll, Target: states.Manageable},
		},
		"a new state's default target replaces the old target": {
			machine.Node{State: states.Cleaning, Target: states.Manageable},
			machine.Input{Event: states.EventWait},
			machine.Node{State: states.CleanWait, Target: states.Available},
		},
		"a named target replaces the default": {
			machine.Node{State: states.Cleaning, Target: states.Manageable},
			machine.Input{Event: states.EventWait, Target: states.Manageable},
			machine.Node{State: states.CleanWait, Target: states.Manageable},
		},
		"manual cleaning ends in manageable": {
			machine.Node{State: states.Cleaning, Target: states.Manageable},
			machine.Input{Event: states.EventManage},
			machine.Node{State: states.Manageable},
		},
		"no text leaves the last error": {
			machine.Node{State: states.CleanFail, Target: states.Available, LastError: failed},
			machine.Input{Event: states.EventManage},
			machine.Node{State: states.Manageable, LastError: failed},
		},
		"work that starts stores the text that comes with it": {
			machine.Node{State: states.Active, LastError: failed},
			machine.Input{Event: states.EventDelete, LastError: "other", Work: true},
			machine.Node{State: states.Deleting, Target: states.Available, LastError: "other"},
		},
		"tear-down cleans": {
			machine.Node{State: states.Deleting, Target: states.Available},
			machine.Input{Event: states.EventClean},
			machine.Node{State: states.Cleaning, Target: states.Available},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.node.Apply(latest, test.in)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	tests := map[string]struct {
		table *states.Table
		node  machine.Node
		in    machine.Input
		as    any
		text  string
	}{
		"an event without a row": {
			latest, node(states.Enroll), machine.Input{Event: states.EventDeploy},
			new(*machine.EventError), `event "deploy" is not allowed in state "enroll"; allowed: manage`,
		},
		"no event": {
			latest, node(states.Rescue), machine.Input{},
			new(*machine.EventError), `event "none" is not allowed in state "rescue"; allowed: delete, rescue, unrescue`,
		},
		"a state that the series lacks": {
			states.Kilo.Table(), node(states.Enroll), machine.Input{Event: states.EventManage},
			new(*machine.StateError), `state "enroll" is not one of kilo's: {manageable, available, active, ` +
				`wait call-back, deploying, deploy failed, deleting, cleaning, clean failed, error, inspecting, inspect failed}`,
		},
		"no state": {
			latest, machine.Node{}, machine.Input{Event: states.EventManage},
			new(*machine.StateError), `state "none" is not one of 2026.2's: ` + latest.States().String(),
		},
		"a number that is no state": {
			latest, node(200), machine.Input{Event: states.EventManage},
			new(*machine.StateError), `state "State(200)" is not one of 2026.2's: ` + latest.States().String(),
		},
		"a stored target that is not stable": {
			latest, machine.Node{State: states.Enroll, Target: states.Cleaning}, machine.Input{Event: states.EventManage},
			new(*machine.StateError), `stored target "cleaning" is not one of 2026.2's stable states: ` + latest.Stable().String(),
		},
		"a named target that is not stable": {
			latest, node(states.Enroll), machine.Input{Event: states.EventManage, Target: states.CleanFail},
			new(*machine.StateError), `named target "clean failed" is not one of 2026.2's stable states: ` + latest.Stable().String(),
		},
		"no table": {
			nil, node(states.Enroll), machine.Input{Event: states.EventManage},
			new(*machine.StateError), `no table for state "enroll": take one from states.Series.Table`,
		},
		"an empty table": {
			new(states.Table), node(states.Enroll), machine.Input{Event: states.EventManage},
			new(*machine.StateError), `no table for state "enroll": take one from states.Series.Table`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.node.Apply(test.table, test.in)
			require.ErrorAs(t, err, test.as)
			require.EqualError(t, err, test.text)
			require.Equal(t, test.node, got, "the node is returned as it was")
		})
	}
}

func TestErrorsNameTheRequest(t *testing.T) {
	_, err := node(states.Enroll).Apply(latest, machine.Input{Event: states.EventDeploy})
	var event *machine.EventError
	require.ErrorAs(t, err, &event)
	require.Equal(t, &machine.EventError{
		Series: states.Hibiscus, State: states.Enroll, Event: states.EventDeploy,
		Allowed: []states.Event{states.EventManage},
	}, event)

	_, err = node(states.Deleted).Apply(latest, machine.Input{Event: states.EventDeploy})
	var state *machine.StateError
	require.ErrorAs(t, err, &state)
	require.Equal(t, &machine.StateError{Series: states.Hibiscus, State: states.Deleted}, state)

	_, err = machine.Node{State: states.Enroll, Target: states.Error + 1}.Apply(latest, machine.Input{Event: states.EventManage})
	var target *machine.StateError
	require.ErrorAs(t, err, &target)
	require.Equal(t, &machine.StateError{Series: states.Hibiscus, State: states.Error + 1, Role: machine.StoredTarget}, target)

	_, err = node(states.Deleting).Report(latest, states.EventWait, "")
	require.ErrorAs(t, err, &event)
	require.Equal(t, []states.Event{states.EventDone, states.EventClean, states.EventFail}, event.Allowed)

	no := errors.New("no")
	require.EqualError(t, &machine.HookError{Hook: machine.SaveHook, Event: states.EventManage, Err: no},
		`save hook at event "manage" (nothing has changed): no`)
	require.EqualError(t, &machine.HookError{Node: "node-1", Hook: machine.EnterHook, Event: states.EventManage, Moved: true, Err: no},
		`enter hook of node node-1 at event "manage" (the node has moved): no`)
}

// conductor moves a node with the same steps as Ironic's two source files, with a
// table's rows and sets as plain maps.
type conductor struct {
	next   map[[2]string]string
	target map[string]string
	stable map[string]bool
}

func conductorOf(table *states.Table) conductor {
	c := conductor{map[[2]string]string{}, map[string]string{}, map[string]bool{}}
	for row := range table.Transitions() {
		c.next[[2]string{row.From.String(), row.Event.String()}] = row.To.String()
	}
	for s := range table.States().All() {
		c.stable[s.String()] = table.Stable().Has(s)
		if target := table.Target(s); target != states.NoState {
			c.target[s.String()] = target.String()
		}
	}
	return c
}

// process returns the node's state and target after an event; ok is false if Ironic
// raises InvalidState.
func (c conductor) process(state, stored, event, named string, work bool) (string, string, bool) {
	if _, known := c.stable[state]; !known {
		return "", "", false
	}
	valid := func(target string) bool { return target == "none" || c.stable[target] }
	if !valid(stored) {
		return "", "", false
	}
	current := stored
	if current == "none" && c.target[state] != "" {
		current = c.target[state]
	}

	to, ok := c.next[[2]string{state, event}]
	if !ok {
		return "", "", false
	}
	if current == to {
		current = "none"
	}
	if c.target[to] != "" {
		current = c.target[to]
	}
	if named != "none" {
		if !valid(named) {
			return "", "", false
		}
		current = named
	}
	if !work && c.stable[to] {
		current = "none"
	}
	return to, current, true
}

func TestApplyAgreesWithTheConductorEverywhere(t *testing.T) {
	every := slices.Collect(states.AllStates())
	withNone := append([]states.State{states.NoState}, every...)
	checked := 0
	for series := range everySeries() {
		table := series.Table()
		ironic := conductorOf(table)
		for _, from := range every {
			for _, stored := range withNone {
				for event := range states.AllEvents() {
					_, row := table.Next(from, event)
					for _, named := range withNone {
						if !row && named != states.NoState {
							continue // refused for the event, whatever is named
						}
						for _, work := range []bool{false, true} {
							n := machine.Node{State: from, Target: stored, LastError: "before"}
							in := machine.Input{Event: event, Target: named, Work: work}
							state, target, ok := ironic.process(from.String(), stored.String(), event.String(), named.String(), work)
							checkApply(t, table, n, in, state, target, ok)
							checked++
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations of series, state, stored target, event, named target and work", checked)
}

func checkApply(t *testing.T, table *states.Table, n machine.Node, in machine.Input, state, target string, ok bool) {
	got, err := n.Apply(table, in)
	switch {
	case !ok:
		if err == nil || got != n {
			t.Fatalf("%v: %v with %+v gives %v, %v; Ironic refuses it", table.Series(), n, in, got, err)
		}
	case err != nil || got.State.String() != state || got.Target.String() != target:
		t.Fatalf("%v: %v with %+v gives %v, %v; Ironic has state %q, target %q", table.Series(), n, in, got, err, state, target)
	case in.Work != (got.LastError == ""):
		t.Fatalf("%v: %v with %+v has the last error %q", table.Series(), n, in, got.LastError)
	}
}

func TestNodeJSONIsIronics(t *testing.T) {
	tests := map[string]machine.Node{
		`{"provision_state":"cleaning","target_provision_state":"manageable","last_error":null}`: {
			State: states.Cleaning, Target: states.Manageable,
		},
		`{"provision_state":"enroll","target_provision_state":null,"last_error":"no power"}`: {
			State: states.Enroll, LastError: "no power",
		},
		`{"provision_state":null,"target_provision_state":null,"last_error":null}`: {},
	}
	for text, n := range tests {
		got, err := json.Marshal(n)
		require.NoError(t, err)
		require.JSONEq(t, text, string(got))

		var back machine.Node
		require.NoError(t, json.Unmarshal([]byte(text), &back))
		require.Equal(t, n, back)
	}

	var back machine.Node
	require.ErrorAs(t, json.Unmarshal([]byte(`{"provision_state":"managable"}`), &back), new(*states.UnknownError))
	_, err := json.Marshal(node(200))
	require.ErrorAs(t, err, new(*states.UnknownError))
}

func TestANodeIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(machine.Node{}), uintptr(32))
}

func FuzzNode(f *testing.F) {
	f.Add([]byte(`{"provision_state":"cleaning","target_provision_state":"manageable"}`), []byte{14, 3, 1})
	f.Add([]byte(`{"provision_state":"enroll","last_error":"x"}`), []byte{1, 15, 255})
	f.Fuzz(func(t *testing.T, text, events []byte) {
		var n machine.Node
		if json.Unmarshal(text, &n) != nil {
			return
		}
		m, err := machine.New(machine.Config{Table: latest, Node: n})
		if err != nil {
			require.False(t, latest.States().Has(n.State) && (n.Target == states.NoState || latest.Stable().Has(n.Target)))
			return
		}
		for _, e := range events {
			before := m.Node()
			err := m.Fire(t.Context(), states.Event(e))
			after := m.Node()
			to, ok := latest.Next(before.State, states.Event(e))
			require.Equal(t, ok, err == nil)
			if ok {
				require.Equal(t, to, after.State)
			} else {
				require.Equal(t, before, after)
			}
		}
	})
}
