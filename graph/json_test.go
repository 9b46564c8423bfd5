// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"io"
	"regexp"
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
			require.Equal(t, table.Phase(s.State), s.Phase, s.State)
			require.Equal(t, table.Stable().Has(s.State), s.Stable, s.State)
		}
	}
}

// upstreamSaysAPI is the rule by which upstream's own diagram marks a transition as
// a request: upstream has no table of requests.
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

// The API accepts words for two transitions that the conductor fires by itself.
func TestTransitionsOfBothCausesInEverySeries(t *testing.T) {
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

func TestADiagramTellsItsStates(t *testing.T) {
	d := latest()
	d.Only = states.SetOf(states.Enroll, states.Active)
	shown, err := d.States()
	require.NoError(t, err)
	require.Equal(t, d.Only, shown)
	require.Equal(t, read(t, d).states(), shown)
	d.From = states.Active
	shown, err = d.States()
	require.NoError(t, err)
	require.Equal(t, read(t, d).states(), shown)
	_, err = graph.Diagram{}.States()
	require.Error(t, err)
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
	// Stein replaced a transition of Rocky's, and Rocky brought a state.
	for _, pair := range [][2]*states.Table{
		{states.Queens.Table(), states.Rocky.Table()},
		{states.Rocky.Table(), states.Stein.Table()},
	} {
		older, newer := pair[0], pair[1]
		doc := read(t, graph.Diagram{Table: newer, Since: older})
		for _, s := range doc.States {
			require.Equal(t, changeOf(older.States().Has(s.State), newer.States().Has(s.State)), s.Change, s.State)
		}
		changes := make(map[string]bool)
		for _, row := range doc.Transitions {
			_, was := older.Next(row.From, row.Event)
			_, is := newer.Next(row.From, row.Event)
			require.Equal(t, changeOf(was, is), row.Change, row.Transition)
			changes[row.Change] = true
		}
		require.True(t, changes["added"])
		require.Equal(t, older == states.Rocky.Table(), changes["removed"])
		require.Equal(t, older.States().Union(newer.States()), doc.states())
	}
}

func TestSinceANewerSeriesIsAnError(t *testing.T) {
	err := graph.Diagram{Table: states.Zed.Table(), Since: states.Hibiscus.Table()}.WriteJSON(io.Discard)
	require.EqualError(t, err, "not an older series: what changed since 2026.2 cannot be shown in zed; exchange the two")
	require.Empty(t, slices.DeleteFunc(read(t, graph.Diagram{Table: states.Zed.Table(), Since: states.Zed.Table()}).Transitions,
		func(row transition) bool { return row.Change == "" }), "nothing changed since the series itself")
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

func TestThePathIsHighlighted(t *testing.T) {
	path, err := graph.Through(states.Latest().Table(), states.Enroll, states.Verifying, states.Enroll, states.Verifying, states.Manageable)
	require.NoError(t, err)
	doc := read(t, graph.Diagram{Table: states.Latest().Table(), Current: states.Manageable, Path: path})
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
	require.ErrorAs(t, err, new(*machine.StateError))
	_, err = graph.Through(nil, states.Enroll)
	require.ErrorAs(t, err, new(*machine.StateError))
}

func TestTextsOfTheCallerReplaceTheTables(t *testing.T) {
	d := latest()
	require.Equal(t, states.Enroll.Description(), read(t, d).States[0].Description)
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
	require.Equal(t, states.Verifying.Description(), doc.States[1].Description)
}

// tooltips returns the tooltips of a diagram's states, by their identifiers.
func tooltips(t *testing.T, d graph.Diagram) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, match := range regexp.MustCompile(`id="(state-\w+)",[^]]*tooltip="([^"]*)"`).FindAllStringSubmatch(write(t, d.WriteDOT), -1) {
		found[match[1]] = match[2]
	}
	return found
}

func TestTooltipsSayWhatAStateMeansAndWhatTheAPITakes(t *testing.T) {
	d := latest()
	found := tooltips(t, d)
	require.Len(t, found, d.Table.States().Len())
	require.Equal(t, "enroll (stable): Ironic has a record of the node and has not yet shown that it can manage it. "+
		"API requests of version 1.11 and up create nodes in this state. A stable state since Liberty. The API accepts manage.",
		found["state-enroll"])
	require.Equal(t, "verifying (the conductor is working): The conductor checks that it can manage the node: it validates the driver's "+
		"configuration and reads the power state with the credentials in driver_info. Since Liberty. "+
		"The node's target is manageable.", found["state-verifying"])

	d.Describe = func(s states.State) string { return "all about " + s.String() }
	require.Equal(t, "all about enroll", tooltips(t, d)["state-enroll"])
}

func TestEventsAreDescribed(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		var found []states.Event
		for _, e := range read(t, graph.Diagram{Table: table}).Events {
			found = append(found, e.Event)
			require.Equal(t, e.Event.Description(), e.Description)
			for _, verb := range e.Verbs {
				require.Equal(t, e.Event, must(states.ParseVerb(verb)))
			}
		}
		for event := range states.AllEvents() {
			has := slices.ContainsFunc(slices.Collect(table.Transitions()), func(row states.Transition) bool { return row.Event == event })
			require.Equal(t, has, slices.Contains(found, event), "%v: %v", series, event)
		}
	}
}

// The document has every request that the API accepts at any version, with the oldest
// version that accepts it.
func TestRequestsAreTheAPIs(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for _, s := range read(t, graph.Diagram{Table: table}).States {
			oldest := make(map[string]states.APIVersion)
			for v := series.MaxAPIVersion(); v >= 1; v-- {
				for verb := range table.Requests(s.State, v) {
					oldest[verb] = v
				}
			}
			found := make(map[string]states.APIVersion)
			for _, r := range s.Requests {
				found[r.Verb] = r.APIVersion
			}
			require.Equal(t, oldest, found, "%v: %v", series, s.State)
		}
	}
}

// A request follows transitions of the table through states in which the conductor
// works, and ends in a stable or failed state.
func TestRequestsLeadAlongTheTable(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for _, s := range read(t, graph.Diagram{Table: table}).States {
			for _, r := range s.Requests {
				at := s.State
				for _, next := range append(slices.Clone(r.Through), r.To) {
					steps, err := graph.Through(table, at, next)
					require.NoError(t, err)
					require.NotEmpty(t, steps)
					at = next
				}
				stays := table.Phase(r.To) == states.PhaseStable || table.Phase(r.To) == states.PhaseFailed
				require.True(t, stays, "%v: %v in %v ends in %v", series, r.Verb, s.State, r.To)
				require.Equal(t, states.Event.Requires(must(states.ParseVerb(r.Verb))), r.Requires)
			}
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestWhereRequestsLead(t *testing.T) {
	for _, c := range []struct {
		series  states.Series
		from    states.State
		verb    string
		through []states.State
		to      states.State
	}{
		{states.Hibiscus, states.Enroll, "manage", []states.State{states.Verifying}, states.Manageable},
		{states.Hibiscus, states.Available, "manage", []states.State{}, states.Manageable},
		{states.Hibiscus, states.Manageable, "provide", []states.State{states.Cleaning}, states.Available},
		{states.Hibiscus, states.Manageable, "clean", []states.State{states.Cleaning}, states.Manageable},
		{states.Hibiscus, states.Active, "deleted", []states.State{states.Deleting, states.Cleaning}, states.Available},
		{states.Hibiscus, states.CleanHold, "unhold", []states.State{states.CleanWait, states.Cleaning}, states.Available},
		{states.Hibiscus, states.DeployHold, "abort", []states.State{}, states.DeployFail},
		{states.Hibiscus, states.ServiceWait, "abort", []states.State{states.ServiceFail}, states.Active},
		{states.Epoxy, states.ServiceWait, "abort", []states.State{}, states.ServiceFail},
		{states.Kilo, states.Active, "deleted", []states.State{states.Deleting, states.Cleaning}, states.Available},
	} {
		found := false
		for _, s := range read(t, graph.Diagram{Table: c.series.Table()}).States {
			for _, r := range s.Requests {
				if s.State == c.from && r.Verb == c.verb {
					require.Equal(t, c.through, r.Through, c)
					require.Equal(t, c.to, r.To, c)
					found = true
				}
			}
		}
		require.True(t, found, c)
	}
}
