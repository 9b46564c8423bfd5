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

// toy is a machine without targets. Fields left out make a correct one.
type toy struct {
	table *states.Table
	state states.State
	// next stands in for the table's.
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

// start makes toys; spoil makes them wrong.
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

// instead gives a toy another answer to one event in one state; NoState refuses.
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

// onRefusal does something when a toy refuses one event in one state.
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
		{"a missing row", instead(states.Enroll, states.EventManage, states.NoState),
			"2026.2: manage in enroll: want accepted, in verifying; got refused (no row), in enroll"},
		{"a row too many", instead(states.Enroll, states.EventProvide, states.Available),
			"2026.2: provide in enroll: want refused, in enroll; got accepted, in available"},
		{"a wrong row", instead(states.Verifying, states.EventFail, states.Error),
			"2026.2: fail in verifying: want accepted, in enroll; got accepted, in error"},
		{"an event without a word", instead(states.Rescue, states.NoEvent, states.Rescue),
			"2026.2: none in rescue: want refused, in rescue; got accepted, in rescue"},
		{"a move on a refused event",
			onRefusal(states.Active, states.EventDeploy, func(m *toy) { m.state = states.Error }),
			"2026.2: deploy in active: want refused, in active; got refused (no row), in error"},
		{"a panic", onRefusal(states.Rescue, states.EventDone, func(*toy) { panic("unexpected") }),
			"2026.2: done in rescue: want refused, in rescue; got a panic: unexpected"},
		{"a start elsewhere", func(m *toy) {
			if m.state == states.Rescuing {
				m.state = states.Rescue
			}
		}, "2026.2: start in rescuing: want accepted, in rescuing; got accepted, in rescue"},
		{"a start that panics", func(m *toy) {
			if m.state == states.Rescuing {
				panic("unexpected")
			}
		}, "2026.2: start in rescuing: want accepted, in rescuing; got a panic: unexpected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := statestest.Check(table, start(table, test.spoil))
			require.ErrorContains(t, err, test.want)
			var d *statestest.Disagreement
			require.ErrorAs(t, err, &d)
			require.Equal(t, states.Hibiscus, d.Series)
		})
	}
}

func TestOneMistakeIsReportedOnce(t *testing.T) {
	table := states.Latest().Table()
	err := statestest.Check(table, start(table, instead(states.Active, states.EventDelete, states.NoState)))
	require.EqualError(t, err,
		"2026.2: delete in active: want accepted, in deleting; got refused (no row), in active")
}

func TestMistakesThatDependOnHistoryAreFound(t *testing.T) {
	table := states.Latest().Table()
	err := statestest.Check(table, start(table, func(m *toy) {
		m.refused = func(m *toy, _ states.Event) {
			m.next = func(states.State, states.Event) (states.State, bool) { return states.NoState, false }
		}
	}))
	var d *statestest.Disagreement
	require.ErrorAs(t, err, &d)
	require.NotEmpty(t, d.After)
	require.ErrorContains(t, err, " after ")
}

func TestStatesThatTheSeriesLacksMustBeRefused(t *testing.T) {
	kilo, latest := states.Kilo.Table(), states.Latest().Table()
	err := statestest.Check(kilo, start(latest, correct))
	require.ErrorContains(t, err, "kilo: start in enroll: want refused, in enroll; got accepted, in verifying")

	err = statestest.Check(latest, start(kilo, correct))
	require.ErrorContains(t, err, "2026.2: start in enroll: want accepted, in enroll; "+
		"got refused (no such state: enroll), in enroll")
}

func TestReportsAreBounded(t *testing.T) {
	table := states.Latest().Table()
	long := strings.Repeat("x", 1<<16)
	err := statestest.Check(table, func(state, _ states.State) (statestest.Machine, error) {
		panic(long)
	})
	require.Less(t, len(err.Error()), 10_000)
	require.ErrorContains(t, err, "\nand 15 more")

	err = statestest.Check(table, func(state, _ states.State) (statestest.Machine, error) {
		return nil, errors.New(long)
	})
	require.Less(t, len(err.Error()), 10_000)

	err = statestest.Check(table, func(state, _ states.State) (statestest.Machine, error) { return nil, nil })
	require.ErrorContains(t, err, "a panic")
}

func TestThereMustBeSomethingToCheck(t *testing.T) {
	require.ErrorContains(t, statestest.Check(nil, nil), "no states")
	require.ErrorContains(t, statestest.Check(&states.Table{}, nil), "no states")
}

func TestDisagreementsPrint(t *testing.T) {
	after := make([]states.Event, 10)
	for i := range after {
		after[i] = states.EventResume
	}
	d := statestest.Disagreement{
		Series: states.Xena, From: states.Cleaning, Event: states.EventWait, Target: states.Manageable, After: after,
		Want: "this", Got: "that",
	}
	require.EqualError(t, &d, "xena: wait in cleaning with target manageable after 2 events and "+
		"resume resume resume resume resume resume resume resume: want this; got that")
}
