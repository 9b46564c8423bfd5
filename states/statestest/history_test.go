// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// stuck refuses every event from now on.
func stuck(m *toy) {
	m.next = func(states.State, states.Event) (states.State, bool) { return states.NoState, false }
}

// after calls do once the events have been fired in this order, possibly with others
// between them.
func after(do func(*toy), events ...states.Event) func(*toy) {
	return func(m *toy) {
		fired := 0
		m.next = func(s states.State, e states.Event) (states.State, bool) {
			if e == events[fired] {
				if fired++; fired == len(events) {
					do(m)
					return m.table.Next(s, e)
				}
			}
			return m.table.Next(s, e)
		}
	}
}

func TestMistakesThatDependOnHistoryAreFoundAndShortened(t *testing.T) {
	table := states.Latest().Table()
	tests := []struct {
		name  string
		spoil func(*toy)
		want  string
	}{
		{"after a refused event, two events are enough", func(m *toy) {
			m.refused = func(m *toy, _ states.Event) { stuck(m) }
		}, `2026.2: "enroll: provide, manage": want accepted, in "verifying"; got refused ("no row"), in "enroll"`},
		{"after three events of some hundred", after(stuck, states.EventAbort, states.EventRescue, states.EventHold),
			`2026.2: "enroll: abort, rescue, hold, manage": want accepted, in "verifying"; got refused ("no row"), in "enroll"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := statestest.Check(table, start(table, test.spoil))
			require.EqualError(t, err, test.want)
			var d *statestest.Disagreement
			require.ErrorAs(t, err, &d)
			require.EqualError(t, statestest.Replay(table, start(table, test.spoil), d.Sequence), test.want)
		})
	}
}

func TestMistakesThatDoNotRepeatAreSaidToBeFlaky(t *testing.T) {
	table := states.Latest().Table()
	fired := 0
	err := statestest.Check(table, start(table, func(m *toy) {
		m.next = func(s states.State, e states.Event) (states.State, bool) {
			to, ok := table.Next(s, e)
			if fired++; fired == 5000 {
				return to, !ok
			}
			return to, ok
		}
	}))
	var d *statestest.Disagreement
	require.ErrorAs(t, err, &d)
	require.True(t, d.Flaky)
	require.ErrorContains(t, err, "; when repeated it agreed")
}

func TestSequencesAreReplayed(t *testing.T) {
	table := states.Latest().Table()
	targets := startTargeted(table, correctTargets)
	for _, sequence := range []string{
		"enroll", "enroll: manage, done, provide", "clean wait (manageable): resume, manage", "none", "State(255)",
		"manageable: clean (manageable), none, Event(255), wait (State(255))", "wait call-back: resume",
		"cleaning (cleaning): done",
	} {
		require.NoError(t, statestest.Replay(table, targets, sequence), sequence)
	}
	require.ErrorContains(t, statestest.Replay(table, start(table, correct), "manageable: clean (manageable)"), "takes no target")
	for _, sequence := range []string{"happy", "enroll: jump", "enroll (happy)", "enroll: manage (happy)", "enroll:", "enroll: "} {
		err := statestest.Replay(table, targets, sequence)
		if sequence == "enroll: " {
			require.NoError(t, err, "no event at all")
			continue
		}
		require.ErrorAs(t, err, new(*states.UnknownError), sequence)
		require.ErrorContains(t, err, "statestest: replay")
	}
	require.ErrorContains(t, statestest.Replay(nil, targets, "enroll"), "no states")
}
