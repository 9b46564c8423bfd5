// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package graph_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// An xstateRun records a run of a machine by the real XState; see testdata/node/xstate.mjs.
type xstateRun struct {
	Initial string
	Rows    []struct{ From, Event, To string }
	Tags    map[string][]string
}

func TestXStateRunsTheTableOfEverySeries(t *testing.T) {
	var configs []json.RawMessage
	for series := range states.AllSeries() {
		configs = append(configs, json.RawMessage(write(t, graph.Diagram{Table: series.Table()}.WriteXState)))
	}
	var runs []xstateRun
	runNode(t, "xstate.mjs", configs, &runs)
	for series := range states.AllSeries() {
		table, run := series.Table(), runs[0]
		runs = runs[1:]
		require.Equal(t, series.MaxAPIVersion().InitialState().String(), run.Initial)
		type row struct{ From, Event, To string }
		var want, got []row
		for r := range table.Transitions() {
			want = append(want, row{r.From.String(), r.Event.String(), r.To.String()})
		}
		for _, r := range run.Rows {
			got = append(got, row(r))
		}
		require.ElementsMatch(t, want, got, series)
		require.Len(t, run.Tags, table.States().Len())
		for s := range table.States().All() {
			tags := []string{}
			if table.Stable().Has(s) {
				tags = append(tags, "stable")
			}
			if table.Phase(s) == states.PhaseFailed {
				tags = append(tags, "failed")
			}
			require.Equal(t, tags, run.Tags[s.String()], "%v %v", series, s)
		}
	}
	require.Empty(t, runs)
}

// xstate decodes the output of WriteXState.
func xstate(t *testing.T, d graph.Diagram) (doc struct {
	ID, Description, Initial string
	States                   map[string]struct {
		Description string
		On          map[string]struct {
			Target string
			Meta   map[string]string
		}
	}
}) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(write(t, d.WriteXState)), &doc))
	return doc
}

func TestXStateSaysWhoCausesATransition(t *testing.T) {
	doc := xstate(t, graph.Diagram{Table: states.Hibiscus.Table(), Title: "a title", Description: "a text"})
	require.Equal(t, "a title", doc.ID)
	require.Equal(t, "a text", doc.Description)
	require.Equal(t, map[string]string{"cause": "request", "verb": "active"}, doc.States["available"].On["deploy"].Meta)
	require.Equal(t, map[string]string{"cause": "conductor"}, doc.States["deploying"].On["done"].Meta)
	require.Equal(t, map[string]string{"cause": "both", "verb": "manage"}, doc.States["cleaning"].On["manage"].Meta)
	require.Equal(t, states.Enroll.Description(), doc.States["enroll"].Description)
}

func TestXStateHasWhatTheDiagramSelects(t *testing.T) {
	table := states.Stein.Table()
	require.Equal(t, "active", xstate(t, graph.Diagram{Table: table, Current: states.Active, From: states.Deploying}).Initial)
	require.Equal(t, "deploying", xstate(t, graph.Diagram{Table: table, From: states.Deploying}).Initial)

	part := xstate(t, graph.Diagram{Table: table, Only: states.SetOf(states.Deploying, states.DeployWait), RequestsOnly: true})
	require.Equal(t, "wait call-back", part.Initial, "the first in the order of Ironic")
	require.Len(t, part.States, 2)
	require.Empty(t, part.States["deploying"].On)

	// Rocky has a row that Stein lacks, and Kilo a state that Liberty lacks.
	whole := xstate(t, graph.Diagram{Table: table})
	require.Equal(t, whole.States, xstate(t, graph.Diagram{Table: table, Since: states.Rocky.Table()}).States)
	whole = xstate(t, graph.Diagram{Table: states.Liberty.Table()})
	require.Equal(t, whole.States, xstate(t, graph.Diagram{Table: states.Liberty.Table(), Since: states.Kilo.Table()}).States)
}
