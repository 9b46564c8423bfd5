// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// everyNode calls a function for each node that Ironic can have stored in a
// series: every state, with no target and with every stable one.
func everyNode(table *states.Table, f func(machine.Node)) {
	for s := range table.States().All() {
		f(machine.Node{State: s, LastError: "old"})
		for target := range table.Stable().All() {
			f(machine.Node{State: s, Target: target, LastError: "old"})
		}
	}
}

func isManual(table *states.Table, n machine.Node) bool {
	cleaning := n.State == states.Cleaning || n.State == states.CleanWait || n.State == states.CleanHold
	return cleaning && n.Target == states.Manageable && table.Series() >= states.Mitaka
}

// In every series, from every node and for every word, the state is the table's, the
// last error is the text of the last failure, and no target is lost.
func TestRequestsEverywhere(t *testing.T) {
	for series := range everySeries() {
		table, v := series.Table(), series.MaxAPIVersion()
		everyNode(table, func(n machine.Node) {
			for _, word := range append(requestWords(), "done", "nonsense", "") {
				event, refused := table.Request(n.State, word, v)
				got, err := n.Request(table, word, v)
				if refused != nil {
					require.Equal(t, refused, err)
					require.Equal(t, n, got)
					continue
				}
				require.NoError(t, err)
				to, _ := table.Next(n.State, event)
				want := machine.Node{State: to, Target: table.Target(to)}
				switch {
				case event == states.EventAbort && to == states.ServiceFail && series >= states.Flamingo:
					want = machine.Node{State: states.Active, LastError: "By request, the service operation was aborted"}
				case event == states.EventAbort && n.State != states.RescueWait:
					want.LastError = lastErrorOfAbort[n.State]
				case event == states.EventManage && n.State != states.Enroll, event == states.EventUnhold && n.State != states.ServiceHold:
					want.LastError = "old"
				}
				if event == states.EventClean || isManual(table, n) && to != states.Manageable {
					want.Target = states.Manageable
				}
				require.Equal(t, want, got, "%v: %q of %+v", series, word, n)
			}
		})
	}
}

func requestWords() []string {
	return append(slices.Sorted(maps.Keys(states.Verbs())), "rebuild")
}

func TestReportsEverywhere(t *testing.T) {
	for series := range everySeries() {
		table := series.Table()
		everyNode(table, func(n machine.Node) {
			for event := range states.AllEvents() {
				fired := event
				switch {
				case event == states.EventDone && n.State == states.Deleting:
					fired = states.EventClean
				case event == states.EventDone && n.State == states.Cleaning && isManual(table, n):
					fired = states.EventManage
				case event == states.EventFail && n.State == states.Deleting && series < states.Stein:
					fired = states.EventError
				}
				to, ok := table.Next(n.State, fired)
				ok = ok && !table.IsRequest(states.Transition{From: n.State, Event: fired, To: to})

				got, err := n.Report(table, event, "new")
				if !ok {
					var refused *machine.EventError
					require.ErrorAs(t, err, &refused, "%v: %v of %+v", series, event, n)
					require.ErrorIs(t, err, states.ErrNotAllowed)
					require.Equal(t, event, refused.Event)
					require.NotContains(t, refused.Allowed, event)
					require.Equal(t, n, got)
					for _, allowed := range refused.Allowed {
						_, err := n.Report(table, allowed, "")
						require.NoError(t, err, "%v: %v is said to be allowed in %v", series, allowed, n.State)
					}
					continue
				}
				require.NoError(t, err, "%v: %v of %+v", series, event, n)
				want := machine.Node{State: to, Target: table.Target(to), LastError: "new"}
				if isManual(table, n) && !table.Stable().Has(to) {
					want.Target = states.Manageable
				}
				require.Equal(t, want, got, "%v: %v of %+v", series, event, n)

				silent, err := n.Report(table, event, "")
				require.NoError(t, err)
				require.Equal(t, "old", silent.LastError)
				n := n
				n.LastError = ""
				silent, err = n.Report(table, event, "")
				require.NoError(t, err)
				require.Equal(t, event == states.EventFail, silent.LastError != "", "only a failure has an error")
			}
		})
	}
}

func TestRulesWithoutATable(t *testing.T) {
	_, err := node(states.Enroll).Request(nil, "manage", 115)
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = node(states.Enroll).Report(nil, states.EventDone, "")
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = machine.Node{}.Report(latest, states.EventDone, "")
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = machine.Node{State: states.Enroll, Target: states.Cleaning}.Request(latest, "manage", 115)
	require.ErrorAs(t, err, new(*machine.StateError))
}

func TestAnErrorTextIsMadeFitToBeStored(t *testing.T) {
	verifying := machine.Node{State: states.Verifying, Target: states.Manageable}
	n, err := verifying.Report(latest, states.EventFail, "\x1b[31mred\x07 \u202e\xff"+strings.Repeat("x", 1<<20))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(n.LastError, " [31mred  \ufffdxxx"), n.LastError[:20])
	require.LessOrEqual(t, len(n.LastError), 2048)
}

func TestHooksGetThePowerStateThatWasRead(t *testing.T) {
	var saved machine.Transition
	m := newMachine(t, states.Verifying, func(c *machine.Config) {
		c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error { saved = tr; return nil }}
	})
	require.NoError(t, m.Apply(t.Context(), machine.Input{Event: states.EventDone, Power: states.PowerOn}))
	require.Equal(t, states.PowerOn, saved.Power)
	require.Equal(t, states.Manageable, saved.To.State)
}

func TestAnAbortedServiceIsTwoTransitions(t *testing.T) {
	var told []states.State
	refuse := states.NoState
	make := func() *machine.Machine {
		told = nil
		return newMachine(t, states.ServiceHold, func(c *machine.Config) {
			c.Save = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
				if tr.To.State == refuse {
					return context.DeadlineExceeded
				}
				told = append(told, tr.To.State)
				return nil
			}}
			c.Enter = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
				if tr.To.State == states.ServiceFail {
					return context.Canceled
				}
				return nil
			}}
		})
	}
	m := make()
	require.ErrorIs(t, m.Request(t.Context(), "abort", 115), context.Canceled, "the first enter hook's")
	require.Equal(t, []states.State{states.ServiceFail, states.Active}, told)
	require.Equal(t, states.Active, m.Node().State)

	refuse = states.Active
	m = make()
	err := m.Request(t.Context(), "abort", 115)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, states.ServiceFail, m.Node().State)

	refuse = states.ServiceFail
	m = make()
	require.ErrorIs(t, m.Request(t.Context(), "abort", 115), context.DeadlineExceeded)
	require.Equal(t, states.ServiceHold, m.Node().State)
}

func TestAGuardKeepsAServiceFromBeingAborted(t *testing.T) {
	refused := errors.New("the step cannot be aborted")
	for _, from := range []states.State{states.ServiceWait, states.ServiceHold, states.CleanWait, states.InspectWait} {
		asked := 0
		m := newMachine(t, from, func(c *machine.Config) {
			c.Guard = []machine.Hook{func(_ context.Context, tr machine.Transition) error {
				asked++
				if tr.Event == states.EventAbort {
					return refused
				}
				return nil
			}}
		})
		require.ErrorIs(t, m.Request(t.Context(), "abort", 115), refused)
		require.Equal(t, node(from), m.Node(), "nothing has happened")
		require.Equal(t, 1, asked)
	}
}

func TestAMachineIsGivenTheNodeAsItIsNow(t *testing.T) {
	for name, set := range map[string]func(*machine.Config){
		"without hooks": func(*machine.Config) {},
		"with a save hook": func(c *machine.Config) {
			c.Save = []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, states.Enroll, set)
			now := machine.Node{State: states.Cleaning, Target: states.Manageable, LastError: "text"}
			require.NoError(t, m.SetNode(t.Context(), now, nil))
			require.Equal(t, now, m.Node())
			require.NoError(t, m.Report(t.Context(), states.EventDone, ""))
			require.Equal(t, states.Manageable, m.Node().State)
			require.ErrorAs(t, m.SetNode(t.Context(), machine.Node{}, nil), new(*machine.StateError))
			require.ErrorAs(t, m.SetNode(t.Context(), machine.Node{State: states.Active, Target: states.Cleaning}, nil), new(*machine.StateError))
			require.Equal(t, states.Manageable, m.Node().State)
		})
	}
}

func TestSetNodeWaitsForASaveThatRuns(t *testing.T) {
	saving, release := make(chan bool), make(chan bool)
	var m *machine.Machine
	m = newMachine(t, states.Enroll, func(c *machine.Config) {
		c.Save = []machine.Hook{func(ctx context.Context, _ machine.Transition) error {
			require.ErrorContains(t, m.SetNode(ctx, node(states.Active), nil), "a guard or save hook cannot move its own machine")
			saving <- true
			<-release
			return nil
		}}
	})
	moved := make(chan error)
	go func() { moved <- m.Request(context.Background(), "manage", 115) }()
	<-saving
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	require.ErrorIs(t, m.SetNode(ctx, node(states.Active), nil), context.Canceled)
	release <- true
	require.NoError(t, <-moved)
	require.NoError(t, m.SetNode(t.Context(), node(states.Active), nil))
	require.Equal(t, node(states.Active), m.Node())
}

func TestATransitionSurvivesJSON(t *testing.T) {
	want := machine.Transition{
		Node:  "node-1",
		Event: states.EventDone,
		From:  machine.Node{State: states.Verifying, Target: states.Manageable, LastError: "old"},
		To:    machine.Node{State: states.Manageable},
		Power: states.PowerOn, Time: time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC), Status: "end",
	}
	data, err := json.Marshal(want)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"node": "node-1", "event": "done",
		"previous_provision_state": "verifying", "previous_target_provision_state": "manageable", "previous_last_error": "old",
		"provision_state": "manageable", "target_provision_state": null, "last_error": null,
		"power_state": "power on", "time": "2026-11-21T20:00:00Z", "status": "end"
	}`, string(data))
	var got machine.Transition
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, want, got)

	require.ErrorAs(t, json.Unmarshal([]byte(`{"event": "over"}`), &got), new(*states.UnknownError))
	require.Equal(t, want, got)
}

// TestTheAbortOfEveryWorkHasAnEntry fails for a work that can be aborted and has no text of its own.
func TestTheAbortOfEveryWorkHasAnEntry(t *testing.T) {
	for series := range everySeries() {
		for row := range series.Table().Transitions() {
			if row.Event == states.EventAbort {
				n, err := machine.Node{State: row.From}.Request(series.Table(), "abort", series.MaxAPIVersion())
				require.NoError(t, err)
				require.NotEqual(t, "By request, the operation was aborted", n.LastError,
					"aborted in machine/rules.go has no text for the work %s, which is aborted in %q", row.From.Work(), row.From)
			}
		}
	}
}

var lastErrorOfAbort = map[states.State]string{
	states.CleanWait:   "By request, the clean operation was aborted",
	states.CleanHold:   "By request, the clean operation was aborted",
	states.ServiceWait: "By request, the service operation was aborted",
	states.ServiceHold: "By request, the service operation was aborted",
	states.ServiceFail: "By request, the service operation was aborted",
	states.InspectWait: "Inspection was aborted by request.",
	states.DeployWait:  "By request, the deploy operation was aborted",
	states.DeployHold:  "By request, the deploy operation was aborted",
}

func TestAFailureWhoseTextSaysNothingHasALastError(t *testing.T) {
	for _, text := range []string{"", " ", "\n", "\x1b\t", "\u202e", "\u2066\n"} {
		n := machine.Node{State: states.Verifying}
		failed, err := n.Report(states.Latest().Table(), states.EventFail, text)
		require.NoError(t, err)
		require.Contains(t, failed.LastError, "no reason", "%q", text)
		n.LastError = "old"
		failed, err = n.Report(states.Latest().Table(), states.EventFail, text)
		require.NoError(t, err)
		require.Equal(t, "old", failed.LastError, "%q", text)
	}
}
