// SPDX-License-Identifier: Apache-2.0

package statestest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

var errNoRow = errors.New("no row")

// toy is a machine without targets. By default it is correct.
type toy struct {
	table *states.Table
	state states.State
	// next replaces the table's Next.
	next func(states.State, states.Event) (states.State, bool)
	// refused is called with a refused event.
	refused func(*toy, states.Event)
}

func (m *toy) Current() states.State { return m.state }

func (m *toy) Fire(event states.Event) error {
	to, ok := m.next(m.state, event)
	if !ok {
		m.refused(m, event)
		return errNoRow
	}
	m.state = to
	return nil
}

// start makes toys; spoil gives them a mistake.
func start(table *states.Table, spoil func(*toy)) statestest.Start {
	return func(state, _ states.State) (statestest.Machine, error) {
		if !table.States().Has(state) {
			return nil, fmt.Errorf("no such state: %v", state)
		}
		m := &toy{table: table, state: state, next: table.Next, refused: func(*toy, states.Event) {}}
		spoil(m)
		return m, nil
	}
}

func correct(*toy) {}

func TestCorrectMachinesAgree(t *testing.T) {
	for s := range states.AllSeries() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, statestest.Check(s.Table(), start(s.Table(), correct)))
			require.NoError(t, statestest.Check(s.Table(), startTargeted(s.Table(), correctTargets)))
		})
	}
}

func TestMachinesMayRefuseEventsInsteadOfTheStart(t *testing.T) {
	table := states.Kilo.Table()
	lenient := func(state, _ states.State) (statestest.Machine, error) {
		return &toy{state: state, next: table.Next, refused: func(*toy, states.Event) {}}, nil
	}
	require.NoError(t, statestest.Check(table, lenient))
}

// instead makes a toy move to another state for one event in one state, or refuse the
// event if that state is NoState.
func instead(from states.State, event states.Event, to states.State) func(*toy) {
	return func(m *toy) {
		m.next = func(s states.State, e states.Event) (states.State, bool) {
			if s == from && e == event {
				return to, to != states.NoState
			}
			return m.table.Next(s, e)
		}
	}
}

// onRefusal calls do when a toy refuses one event in one state.
func onRefusal(from states.State, event states.Event, do func(*toy)) func(*toy) {
	return func(m *toy) {
		m.refused = func(m *toy, e states.Event) {
			if m.state == from && e == event {
				do(m)
			}
		}
	}
}

func TestEachMistakeIsReported(t *testing.T) {
	table := states.Latest().Table()
	tests := []struct {
		name  string
		spoil func(*toy)
		want  string
	}{
		{"a missing transition", instead(states.Enroll, states.EventManage, states.NoState),
			`2026.2: "enroll: manage": want accepted, in "verifying"; got refused ("no row"), in "enroll"`},
		{"a transition too many", instead(states.Enroll, states.EventProvide, states.Available),
			`2026.2: "enroll: provide": want refused, in "enroll"; got accepted, in "available"`},
		{"a transition to another state", instead(states.Verifying, states.EventFail, states.Error),
			`2026.2: "verifying: fail": want accepted, in "enroll"; got accepted, in "error"`},
		{"an event without a word", instead(states.Rescue, states.NoEvent, states.Rescue),
			`2026.2: "rescue: none": want refused, in "rescue"; got accepted, in "rescue"`},
		{"a move on a refused event",
			onRefusal(states.Active, states.EventDeploy, func(m *toy) { m.state = states.Error }),
			`2026.2: "active: deploy": want refused, in "active"; got refused ("no row"), in "error"`},
		{"a panic", onRefusal(states.Rescue, states.EventDone, func(*toy) { panic("unexpected") }),
			`2026.2: "rescue: done": want refused, in "rescue"; got a panic ("unexpected")`},
		{"a start in another state", func(m *toy) {
			if m.state == states.Rescuing {
				m.state = states.Rescue
			}
		}, `2026.2: "rescuing": want accepted, in "rescuing"; got accepted, in "rescue"`},
		{"a start that panics", func(m *toy) {
			if m.state == states.Rescuing {
				panic("unexpected")
			}
		}, `2026.2: "rescuing": want accepted, in "rescuing"; got a panic ("unexpected")`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := statestest.Check(table, start(table, test.spoil))
			require.EqualError(t, err, test.want, "one report")
			var d *statestest.Disagreement
			require.ErrorAs(t, err, &d)
			require.Equal(t, states.Hibiscus, d.Series)
			require.EqualError(t, statestest.Replay(table, start(table, test.spoil), d.Sequence), test.want)
			require.NoError(t, statestest.Replay(table, start(table, correct), d.Sequence))
		})
	}
}

func TestOneCauseIsOneReport(t *testing.T) {
	table := states.Latest().Table()
	refuse := func(event states.Event) func(*toy) {
		return func(m *toy) {
			m.next = func(s states.State, e states.Event) (states.State, bool) {
				if e == event {
					return states.NoState, false
				}
				return m.table.Next(s, e)
			}
		}
	}
	tests := []struct {
		name  string
		spoil func(*toy)
		want  string
	}{
		{"an event that is nowhere accepted", refuse(states.EventAbort),
			`2026.2: "wait call-back: abort": want accepted, in "deploy failed"; got refused ("no row"), in "wait call-back"; ` +
				`also "deploy hold: abort", "clean wait: abort", "clean hold: abort" and 5 more`},
		{"illegal events without an error", func(m *toy) {
			m.next = func(s states.State, e states.Event) (states.State, bool) {
				if to, ok := m.table.Next(s, e); ok {
					return to, true
				}
				return s, true
			}
		}, `2026.2: "enroll: provide": want refused, in "enroll"; got accepted, in "enroll"; ` +
			`also "enroll: deploy", "enroll: rebuild", "enroll: delete" and `},
		{"an index out of range", func(m *toy) {
			m.refused = func(m *toy, e states.Event) { _ = make([]int, 2)[int(e)+2] }
		}, `got a panic ("runtime error: index out of range [4] with length 2"); also "enroll: deploy", `},
		{"a state that does not start and that no event leads to", func(m *toy) {
			if m.state == states.Servicing {
				panic("no servicing")
			}
		}, `2026.2: "servicing": want accepted, in "servicing"; got a panic ("no servicing")`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := statestest.Check(table, start(table, test.spoil))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n", "one report")
		})
	}
}

func TestAMissingStateIsOneReport(t *testing.T) {
	table := states.Latest().Table()
	err := statestest.Check(table, func(state, _ states.State) (statestest.Machine, error) {
		if !table.States().Has(state) || state == states.ServiceHold {
			return nil, errNoRow
		}
		m := &toy{table: table, state: state, refused: func(*toy, states.Event) {}}
		m.next = func(s states.State, e states.Event) (states.State, bool) {
			to, ok := table.Next(s, e)
			return to, ok && to != states.ServiceHold
		}
		return m, nil
	})
	require.EqualError(t, err, `2026.2: "service hold": want accepted, in "service hold"; got refused ("no row"), in "service hold"; `+
		`also "servicing: hold", "service wait: hold", "service failed: hold"`)
}

func TestStatesThatTheSeriesLacksMustBeRefused(t *testing.T) {
	kilo, latest := states.Kilo.Table(), states.Latest().Table()
	err := statestest.Check(kilo, start(latest, correct))
	require.ErrorContains(t, err, `kilo: "enroll: manage": want refused, in "enroll"; got accepted, in "verifying"; also "verifying`)

	err = statestest.Check(latest, start(kilo, correct))
	require.ErrorContains(t, err,
		`2026.2: "enroll": want accepted, in "enroll"; got refused ("no such state: enroll"), in "enroll"; also "verifying", `)
}

func TestReportsAreBounded(t *testing.T) {
	table := states.Latest().Table()
	long := strings.Repeat("x", 1<<16)
	tests := map[string]struct {
		start   statestest.Start
		want    string
		reports int
	}{
		"panics": {func(state, _ states.State) (statestest.Machine, error) { panic(long) },
			`"verifying", "manageable", "available" and 31 more`, 1},
		"errors": {func(state, _ states.State) (statestest.Machine, error) { return nil, errors.New(long) },
			`"verifying", "manageable", "available" and 26 more`, 1},
		"no machine": {func(state, _ states.State) (statestest.Machine, error) { return nil, nil }, "a panic", 1},
		"a cause for each transition": {start(table, func(m *toy) {
			m.next = func(s states.State, e states.Event) (states.State, bool) {
				to, ok := table.Next(s, e)
				return states.State((int(to)+int(s)+int(e))%25) + 1, ok
			}
		}), "\nand ", 21},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := statestest.Check(table, test.start)
			require.ErrorContains(t, err, test.want)
			require.Less(t, len(err.Error()), 10_000)
			require.Equal(t, test.reports, strings.Count(err.Error(), "\n")+1)
		})
	}
}

func TestThereMustBeSomethingToCheck(t *testing.T) {
	require.ErrorContains(t, statestest.Check(nil, nil), "no states")
	require.ErrorContains(t, statestest.Check(&states.Table{}, nil), "no states")
}
