// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// rowsOfMachine returns the transitions of a machine that a function moves, nil if it refuses.
func rowsOfMachine(
	t *testing.T, table *states.Table, at machine.Node, move func(*machine.Machine) error,
) (rows []states.Transition, end states.State) {
	m, err := machine.New(machine.Config{Table: table, Node: at, History: 2})
	require.NoError(t, err)
	if move(m) != nil {
		return nil, at.State
	}
	for _, moved := range m.History() {
		rows = append(rows, states.Transition{From: moved.From.State, Event: moved.Event, To: moved.To.State})
	}
	return rows, m.Node().State
}

// TestStoredTransitionsMatchTheMachine tries every request and every report in every state
// of every series, with each target that changes the result.
func TestStoredTransitionsMatchTheMachine(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for state := range table.States().All() {
			for _, target := range []states.State{table.Target(state), states.Manageable} {
				at := machine.Node{State: state, Target: target}
				for word := range table.Requests(state, series.MaxAPIVersion()) {
					event, err := table.Request(state, word, series.MaxAPIVersion())
					require.NoError(t, err)
					want, to := rowsOfMachine(t, table, at, func(m *machine.Machine) error {
						return m.Request(t.Context(), word, series.MaxAPIVersion())
					})
					if want != nil {
						require.Equal(t, want, conductor.RowsOf(table, state, event, to), "%v: %s in %v", series, word, state)
					}
				}
				for _, event := range []states.Event{
					states.EventDone, states.EventFail, states.EventWait,
					states.EventHold, states.EventResume, states.EventManage,
				} {
					want, to := rowsOfMachine(t, table, at, func(m *machine.Machine) error { return m.Report(t.Context(), event, "") })
					if want != nil {
						require.Equal(t, want, conductor.RowsOf(table, state, event, to), "%v: %v in %v", series, event, state)
					}
				}
			}
		}
	}
}

// last returns a node's last transitions without their times.
func last(n *conductor.Node, count int) []conductor.TransitionRecord {
	var moved []conductor.TransitionRecord
	for _, t := range n.Transitions[max(0, len(n.Transitions)-count):] {
		t.Time = time.Time{}
		moved = append(moved, t)
	}
	return moved
}

func TestANodeKeepsItsLastTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.MaxTransitions = 4 })
		f.before(func(_ context.Context, n *conductor.Node, operation string) error {
			if operation == "verify" {
				return errors.New("no answer")
			}
			return nil
		})
		n := f.node(states.Enroll)
		require.Empty(t, n.Transitions)
		f.request(n, "manage")
		n = f.settle(n)
		failed := "verification of node " + n.UUID + " failed: no answer"
		want := []conductor.TransitionRecord{
			{Event: states.EventManage, From: states.Enroll, To: states.Verifying, Target: states.Manageable},
			{Event: states.EventFail, From: states.Verifying, To: states.Enroll, LastError: failed},
		}
		require.Equal(t, want, last(n, 4))
		require.Equal(t, *n.ProvisionUpdatedAt, n.Transitions[1].Time)

		f.before(nil)
		f.request(n, "manage")
		f.settle(n)
		f.request(n, "provide")
		n = f.settle(n)
		require.Equal(t, []conductor.TransitionRecord{
			{Event: states.EventManage, From: states.Enroll, To: states.Verifying, Target: states.Manageable},
			{Event: states.EventDone, From: states.Verifying, To: states.Manageable},
			{Event: states.EventProvide, From: states.Manageable, To: states.Cleaning, Target: states.Available},
			{Event: states.EventDone, From: states.Cleaning, To: states.Available},
		}, last(n, 5))

		// A change that moves nothing adds nothing.
		changed, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Maintenance = true; return nil })
		require.NoError(t, err)
		require.Equal(t, n.Transitions, changed.Transitions)
	})
}

func TestTheAbortOfAServiceIsTwoTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if strings.HasPrefix(operation, "bios.") {
				return conductor.ErrWait
			}
			return nil
		})
		n := f.node(states.Active)
		f.request(n, "service")
		n = f.settle(n)
		require.Equal(t, states.ServiceWait, n.ProvisionState, n.LastError)
		_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.ServiceSteps.Current.Abortable = true; return nil })
		require.NoError(t, err)
		f.request(n, "abort")
		n = f.settle(n)
		require.Equal(t, []conductor.TransitionRecord{
			{Event: states.EventAbort, From: states.ServiceWait, To: states.ServiceFail, LastError: n.LastError},
			{Event: states.EventAbort, From: states.ServiceFail, To: states.Active, LastError: n.LastError},
		}, last(n, 2))
		var seen []string
		for len(f.seen) > 0 {
			seen = append(seen, (<-f.seen).String())
		}
		require.Equal(t, []string{
			"active --service--> servicing", "servicing --wait--> service wait",
			"service wait --abort--> service failed", "service failed --abort--> active",
		}, seen)
	})
}

func TestTransitionsSinceAnEarlierRecord(t *testing.T) {
	at := func(seconds int64) conductor.TransitionRecord {
		return conductor.TransitionRecord{Time: time.Unix(seconds, 0).UTC(), Event: states.EventManage, From: states.Enroll, To: states.Verifying}
	}
	node := func(seconds ...int64) *conductor.Node {
		n := &conductor.Node{}
		for _, s := range seconds {
			n.Transitions = append(n.Transitions, at(s))
		}
		return n
	}
	for _, test := range []struct {
		earlier, now *conductor.Node
		want         []conductor.TransitionRecord
	}{
		{nil, node(1, 2), node(1, 2).Transitions},
		{node(), node(1, 2), node(1, 2).Transitions},
		{node(1, 2), node(1, 2), []conductor.TransitionRecord{}},
		{node(1, 2), node(2, 3, 4), node(3, 4).Transitions},
		{node(1, 2), node(5, 6), node(5, 6).Transitions}, // the record does not reach back to the earlier one
	} {
		require.Equal(t, test.want, test.now.TransitionsSince(test.earlier))
	}
}

// transition draws a transition as records have it.
func transition(t *rapid.T) conductor.TransitionRecord {
	all := rapid.SampledFrom([]states.State{states.Enroll, states.DeployWait, states.CleanFail, states.Active})
	return conductor.TransitionRecord{
		Time:  time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "time")).UTC(),
		Event: rapid.SampledFrom([]states.Event{states.EventManage, states.EventFail}).Draw(t, "event"),
		From:  all.Draw(t, "from"), To: all.Draw(t, "to"),
		Target:    rapid.SampledFrom([]states.State{states.NoState, states.Active}).Draw(t, "target"),
		LastError: rapid.String().Draw(t, "last error"),
	}
}

func TestATransitionIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := transition(t)
		text, err := want.MarshalText()
		require.NoError(t, err)
		var got conductor.TransitionRecord
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, want, got)
	})
}

func FuzzTransitionText(f *testing.F) {
	f.Add("1795320306000007,fail,verifying,enroll,,no answer, twice")
	f.Add("1795320306000007,wait,cleaning,clean wait,manageable")
	f.Add(",,,,")
	f.Add("1,fail,none,,x")
	f.Fuzz(func(t *testing.T, text string) {
		before := conductor.TransitionRecord{LastError: "kept"}
		got := before
		if err := got.UnmarshalText([]byte(text)); err != nil {
			require.Equal(t, before, got)
			return
		}
		again, err := got.MarshalText()
		require.NoError(t, err)
		var same conductor.TransitionRecord
		require.NoError(t, same.UnmarshalText(again))
		require.Equal(t, got, same)
	})
}

// TestInspectionTimesFollowTheTransitions follows the fields inspection_started_at and
// inspection_finished_at, as ironic/db/sqlalchemy/api.py sets them.
func TestInspectionTimesFollowTheTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkInspect: {
			{Interface: "inspect", Step: "inspect_hardware", Priority: 100, Abortable: true, Run: func(context.Context, *conductor.Task) error {
				time.Sleep(time.Second)
				return conductor.ErrWait
			}},
			{Interface: "inspect", Step: "finish", Priority: 50, Run: func(context.Context, *conductor.Task) error {
				time.Sleep(time.Second)
				return nil
			}},
		}}))
		n := f.create(conductor.Node{ProvisionState: states.Manageable, AutomatedClean: new(bool)})
		began := time.Now().UTC()
		check := func(state states.State, started, finished *time.Time) {
			t.Helper()
			got := f.settle(n)
			require.Equal(t, state, got.ProvisionState, got.LastError)
			require.Equal(t, started, got.InspectionStartedAt, "started")
			require.Equal(t, finished, got.InspectionFinishedAt, "finished")
			bubble.Sleep(time.Minute)
		}
		f.request(n, "inspect")
		check(states.Inspecting, &began, nil)
		check(states.InspectWait, &began, nil)
		resumed := time.Now().UTC()
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		check(states.Inspecting, &resumed, nil)
		ended := resumed.Add(time.Second)
		check(states.Manageable, nil, &ended)

		f.request(n, "provide")
		f.settle(n)
		check(states.Available, nil, &ended)
		f.request(n, "manage")
		check(states.Manageable, nil, &ended)

		f.request(n, "inspect")
		bubble.Sleep(2 * time.Second)
		require.NotNil(t, f.settle(n).InspectionStartedAt)
		f.request(n, "abort")
		check(states.InspectFail, nil, nil)
		f.request(n, "manage")
		check(states.Manageable, nil, nil)
	})
}

func TestAnErrorOf256BytesIsWholeInATransition(t *testing.T) {
	for size, whole := range map[int]bool{256: true, 257: false} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.node(states.Enroll)
			f.before(func(context.Context, *conductor.Node, string) error {
				return errors.New(strings.Repeat("x", size-len("verification of node "+n.UUID+" failed: ")))
			})
			f.request(n, "manage")
			n = f.settle(n)
			require.Len(t, n.LastError, size)
			require.Equal(t, whole, n.LastError == n.Transitions[1].LastError)
		})
	}
}

func TestALongErrorIsCutOffInATransition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(context.Context, *conductor.Node, string) error { return errors.New(strings.Repeat("ä", 1000)) })
		n := f.node(states.Enroll)
		f.request(n, "manage")
		n = f.settle(n)
		require.Len(t, n.Transitions, 2)
		text := n.Transitions[1].LastError
		require.LessOrEqual(t, len(text), 256)
		require.True(t, utf8.ValidString(text))
		require.True(t, strings.HasPrefix(n.LastError, strings.TrimSuffix(text, "…")))
		entries, err := f.History(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, n.LastError, entries[0].Event, "the history has the whole text")
	})
}

func TestAHookThatPanicsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		f := start(t, func(c *conductor.Config) {
			c.Log, c.OnTransition = slog.New(slog.NewTextHandler(&log, nil)), func(conductor.Transition) { panic("the hook's own") }
		})
		n := f.node(states.Enroll)
		f.request(n, "manage")
		require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
		require.Equal(t, 2, strings.Count(log.String(), `level=ERROR msg="OnTransition failed" node=`+n.UUID), log.String())
	})
}

func TestEachTransitionIsLogged(t *testing.T) {
	for name, hook := range map[string]func(conductor.Transition){"without a hook": nil, "with a hook": func(conductor.Transition) {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				f := start(t, func(c *conductor.Config) { c.Log, c.OnTransition = slog.New(slog.NewTextHandler(&log, nil)), hook })
				n := f.create(conductor.Node{ProvisionState: states.ServiceWait, ServiceSteps: &conductor.Steps{}})
				f.request(n, "abort")
				require.Equal(t, states.Active, f.settle(n).ProvisionState)
				require.Contains(t, log.String(), `msg="node moved" node=`+n.UUID+` from="service wait" event=abort to="service failed"`)
				require.Contains(t, log.String(), `msg="node moved" node=`+n.UUID+` from="service failed" event=abort to=active`)
				require.NotContains(t, log.String(), "OnTransition failed")
			})
		})
	}
}
