package graph_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestJSONIsTheTableOfEverySeries(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		doc := read(t, graph.Diagram{Table: table})

		require.Equal(t, series, doc.Series)
		require.Equal(t, series.MaxAPIVersion(), doc.APIVersion)
		require.Equal(t, table.States(), doc.states(), series)
		require.Len(t, doc.States, table.States().Len(), series)
		require.Equal(t, slices.Collect(table.Transitions()), doc.transitions(), series)
		for _, s := range doc.States {
			require.Equal(t, table.Target(s.State), s.Target, s.State)
			require.Equal(t, table.Stable().Has(s.State), s.Kind == "stable", s.State)
			require.Equal(t, table.Failed().Has(s.State), s.Kind == "failed", s.State)
			require.Equal(t, table.Waiting().Has(s.State), s.Kind == "waiting", s.State)
			require.Equal(t, table.Held().Has(s.State), s.Kind == "held", s.State)
		}
	}
}

// The rule of upstream's script, as behaviour.md has it.
func upstreamSaysAPI(table *states.Table, row states.Transition) bool {
	return table.Stable().Has(row.From) ||
		strings.HasSuffix(row.From.String(), "failed") ||
		row.Event == states.EventAbort || row.Event == states.EventDelete
}

func TestDifferencesToUpstreamsRule(t *testing.T) {
	table := states.Hibiscus.Table()
	var missed, tooMany []string
	for _, row := range read(t, latest()).Transitions {
		switch ours, theirs := row.Verb != nil, upstreamSaysAPI(table, row.Transition); {
		case ours && !theirs:
			missed = append(missed, row.Transition.String()+", "+row.Cause)
		case theirs && !ours:
			tooMany = append(tooMany, row.Transition.String()+", "+row.Cause)
		}
	}
	require.ElementsMatch(t, []string{
		"clean hold --unhold--> clean wait, request",
		"deploy hold --unhold--> wait call-back, request",
		"service hold --unhold--> service wait, request",
		"service hold --service--> servicing, request",
		"cleaning --manage--> manageable, both",
		"deleting --clean--> cleaning, both",
	}, missed, "requests that upstream's diagram does not show as such")
	require.ElementsMatch(t, []string{
		"service failed --wait--> service wait, conductor",
		"service failed --hold--> service hold, conductor",
	}, tooMany, "the conductor's own that upstream's diagram shows as requests")
}

// What the API takes, and the conductor fires itself: behaviour.md, section 2.
func TestWhatIsBothInEverySeries(t *testing.T) {
	clean := states.Transition{From: states.Deleting, Event: states.EventClean, To: states.Cleaning}
	manage := states.Transition{From: states.Cleaning, Event: states.EventManage, To: states.Manageable}
	for series := range states.AllSeries() {
		var both []states.Transition
		for _, row := range read(t, graph.Diagram{Table: series.Table()}).Transitions {
			if row.Cause == "both" {
				both = append(both, row.Transition)
			}
		}
		if series < states.Mitaka {
			require.Empty(t, both, series)
		} else {
			require.ElementsMatch(t, []states.Transition{manage, clean}, both, series)
		}
	}
}

func TestRequestsCarryTheAPIsWord(t *testing.T) {
	for _, row := range read(t, latest()).Transitions {
		if row.Verb == nil {
			require.Equal(t, "conductor", row.Cause)
			continue
		}
		event, err := states.ParseVerb(*row.Verb)
		require.NoError(t, err)
		require.Equal(t, row.Event, event)
		if row.Event == states.EventDeploy {
			require.Equal(t, "active", *row.Verb)
		}
		if row.Event == states.EventDelete {
			require.Equal(t, "deleted", *row.Verb)
		}
	}
}

func TestFromLeavesOutWhatCannotBeReached(t *testing.T) {
	doc := read(t, graph.Diagram{Table: states.Latest().Table(), From: states.Active})
	require.Equal(t, states.Latest().Table().States().Minus(states.SetOf(states.Enroll, states.Verifying)), doc.states())
	for _, row := range doc.Transitions {
		require.NotEqual(t, states.Enroll, row.From)
		require.NotEqual(t, states.Verifying, row.From)
	}
}

func TestOnlyLeavesOutAllOthers(t *testing.T) {
	inspection := states.Latest().Table().Inspection()
	doc := read(t, graph.Diagram{Table: states.Latest().Table(), Only: inspection})
	require.Equal(t, inspection, doc.states())
	require.Len(t, doc.Transitions, 6)
	for _, row := range doc.Transitions {
		require.True(t, inspection.Has(row.From) && inspection.Has(row.To), row.Transition)
	}
}

func TestRequestsOnly(t *testing.T) {
	all := read(t, latest())
	doc := read(t, graph.Diagram{Table: states.Latest().Table(), RequestsOnly: true})
	require.Equal(t, all.states(), doc.states(), "the states stay")
	var want []states.Transition
	for _, row := range all.Transitions {
		if row.Verb != nil {
			want = append(want, row.Transition)
		}
	}
	require.Equal(t, want, doc.transitions())
}

func TestSinceShowsWhatChanged(t *testing.T) {
	older, newer := states.Queens.Table(), states.Rocky.Table()
	for _, pair := range [][2]*states.Table{{older, newer}, {newer, older}} {
		doc := read(t, graph.Diagram{Table: pair[1], Since: pair[0]})
		for _, s := range doc.States {
			require.Equal(t, changeOf(pair[0].States().Has(s.State), pair[1].States().Has(s.State)), s.Change, s.State)
		}
		for _, row := range doc.Transitions {
			_, was := pair[0].Next(row.From, row.Event)
			_, is := pair[1].Next(row.From, row.Event)
			require.Equal(t, changeOf(was, is), row.Change, row.Transition)
		}
		require.Equal(t, older.States().Union(newer.States()), doc.states())
	}
}

func changeOf(was, is bool) string {
	switch {
	case was && !is:
		return "removed"
	case is && !was:
		return "added"
	default:
		return ""
	}
}

func TestAMachinesHistoryDrawsItself(t *testing.T) {
	node := machine.Node{State: states.Enroll}
	m, err := machine.New(machine.Config{Table: states.Latest().Table(), Node: node, History: 10})
	require.NoError(t, err)
	for _, event := range []states.Event{states.EventManage, states.EventFail, states.EventManage, states.EventDone} {
		require.NoError(t, m.Fire(context.Background(), event))
	}

	doc := read(t, graph.Diagram{
		Table:   states.Latest().Table(),
		Current: m.Node().State,
		Path:    graph.History(m.History()),
	})
	var taken []string
	for _, row := range doc.Transitions {
		if row.Taken {
			taken = append(taken, row.Transition.String())
		}
	}
	require.Equal(t, []string{
		"enroll --manage--> verifying",
		"verifying --done--> manageable",
		"verifying --fail--> enroll",
	}, taken)
	for _, s := range doc.States {
		require.Equal(t, s.State == states.Manageable, s.Current, s.State)
		require.Equal(t, states.SetOf(states.Enroll, states.Verifying, states.Manageable).Has(s.State), s.Taken, s.State)
	}
}

func TestThrough(t *testing.T) {
	table := states.Latest().Table()
	path, err := graph.Through(table, states.Manageable, states.Cleaning)
	require.NoError(t, err)
	require.Equal(t, []states.Transition{
		{From: states.Manageable, Event: states.EventProvide, To: states.Cleaning},
		{From: states.Manageable, Event: states.EventClean, To: states.Cleaning},
	}, path, "each transition that may have been taken")

	path, err = graph.Through(table, states.Active)
	require.NoError(t, err)
	require.Empty(t, path)

	_, err = graph.Through(table, states.Enroll, states.Active)
	require.EqualError(t, err, `no such transition: from "enroll" to "active" in 2026.2`)
	_, err = graph.Through(table, states.Deleted)
	require.ErrorIs(t, err, graph.ErrNoSuchState)
	_, err = graph.Through(nil, states.Enroll)
	require.ErrorIs(t, err, graph.ErrNoTable)
}

func TestTextsOfTheCallerReplaceTheTables(t *testing.T) {
	d := latest()
	require.Equal(t, "enroll: stable; the API takes manage", read(t, d).States[0].Description)
	require.Equal(t, "Ironic provisioning states: 2026.2", read(t, d).Title)

	d.Title, d.Description = " My\nstates ", "mine"
	d.Describe = func(s states.State) string {
		if s == states.Enroll {
			return "start here"
		}
		return ""
	}
	doc := read(t, d)
	require.Equal(t, "My states", doc.Title)
	require.Equal(t, "mine", doc.Description)
	require.Equal(t, "start here", doc.States[0].Description)
	require.Equal(t, "verifying: the conductor is at work; on the way to manageable", doc.States[1].Description)
}
