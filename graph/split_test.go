// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package graph_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/states"
)

// A part's diagram has the part's states and each transition that begins or ends in it.
func TestAPartHasItsStatesAndTheStatesNextToIt(t *testing.T) {
	for series := range states.AllSeries() {
		whole := read(t, graph.Diagram{Table: series.Table()})
		parts := make(map[states.State]string)
		for _, s := range whole.States {
			parts[s.State] = s.Part
		}
		for part := range graph.AllParts() {
			var rows []states.Transition
			var want states.Set
			title := string(part)
			for s, of := range parts {
				if of == title {
					want = want.Union(states.SetOf(s))
				}
			}
			for _, row := range whole.transitions() {
				if parts[row.From] == title || parts[row.To] == title {
					rows = append(rows, row)
					want = want.Union(states.SetOf(row.From, row.To))
				}
			}
			doc := read(t, graph.Diagram{Table: series.Table(), Part: part})
			require.Equal(t, rows, doc.transitions(), "%v: %s", series, title)
			require.Equal(t, want, doc.states(), "%v: %s", series, title)
			require.Equal(t, fmt.Sprintf("Ironic provisioning states: %v, %s", series, strings.ToLower(title)), doc.Title)
		}
	}
}

func TestPartsAreInTheOrderOfLife(t *testing.T) {
	require.Equal(t, []graph.Part{graph.PartEnrolment, graph.PartInspection, graph.PartCleaning, graph.PartDeployment, graph.PartAdoption,
		graph.PartRescue, graph.PartService, graph.PartTearDown},
		slices.Collect(graph.AllParts()))
	for part := range graph.AllParts() {
		require.Equal(t, graph.PartEnrolment, part)
		break
	}
	d := latest()
	d.Part = "cleaning"
	require.EqualError(t, d.WriteDOT(io.Discard),
		`unknown part "cleaning"; known: Enrolment, Inspection, Cleaning, Deployment, Adoption, Rescue, Service, Tear-down`)
}

// The split diagrams have every state and transition, each of them in few enough states.
func TestSplitDiagramsShowTheWholeTogether(t *testing.T) {
	for series := range states.AllSeries() {
		d := graph.Diagram{Table: series.Table(), Description: "text"}
		whole := read(t, d)
		var titles []string
		var rows []states.Transition
		var shown states.Set
		for n, one := range d.Split() {
			doc := read(t, one)
			titles = append(titles, doc.Title)
			rows = append(rows, doc.transitions()...)
			shown = shown.Union(doc.states())
			require.Equal(t, n == 0, doc.Description == "text", doc.Title)
			require.Equal(t, len(doc.States) > 10, one.LeftToRight, doc.Title)
			require.NotEmpty(t, doc.States)
		}
		require.Equal(t, fmt.Sprintf("Ironic provisioning states: %v, from enroll to active", series), titles[0])
		require.Equal(t, len(titles), len(slices.Compact(slices.Sorted(slices.Values(titles)))))
		require.Subset(t, rows, whole.transitions(), series)
		require.Equal(t, whole.states(), shown, series)
	}
	require.Len(t, latest().Split(), 9)
	require.Len(t, graph.Diagram{Table: states.Kilo.Table()}.Split(), 5, "Kilo has no enrolment, adoption, rescue and service")
}

func TestTheFirstOfSplitDiagramsIsTheWayToActive(t *testing.T) {
	require.Equal(t, states.SetOf(states.Enroll, states.Verifying, states.Manageable, states.Cleaning, states.Available, states.Deploying,
		states.Active), read(t, latest().Split()[0]).states())
}

func TestWhatCanBeReadIsNotSplit(t *testing.T) {
	inspection := states.Latest().Table().Inspection()
	ten := states.SetOf(states.DeployFail, states.DeployHold, states.DeployWait, states.Error, states.Deleting, states.Rescue, states.Rescuing,
		states.RescueFail, states.RescueWait, states.Unrescuing)
	require.Equal(t, 10, ten.Len())
	for name, d := range map[string]graph.Diagram{
		"few states": {Table: states.Latest().Table(), Only: inspection},
		"ten states": {Table: states.Latest().Table(), Only: ten},
		"a part":     {Table: states.Latest().Table(), Part: graph.PartTearDown},
		"no table":   {},
	} {
		require.Equal(t, []graph.Diagram{d}, d.Split(), name)
	}
	// None of these eleven states is on the way to active.
	d := graph.Diagram{Table: states.Latest().Table(), Only: ten.Union(states.SetOf(states.UnrescueFail))}
	var parts []graph.Part
	for _, one := range d.Split() {
		parts = append(parts, one.Part)
	}
	require.Equal(t, []graph.Part{graph.PartDeployment, graph.PartRescue, graph.PartTearDown}, parts)
}

// A page has the diagram of each part at the head of its sections.
func TestMarkdownHasADiagramForEachPart(t *testing.T) {
	for name, d := range map[string]graph.Diagram{
		"latest": latest(),
		"kilo":   {Table: states.Kilo.Table()},
		"few":    {Table: states.Latest().Table(), Only: states.Latest().Table().Inspection()},
		"a part": {Table: states.Latest().Table(), Part: graph.PartRescue},
	} {
		page := write(t, d.WriteMarkdown)
		all := d.Split()
		require.Equal(t, len(all), strings.Count(page, "```mermaid\n"), name)
		head, _, _ := strings.Cut(page, "\n## ")
		require.Contains(t, head, "\n```mermaid\n"+write(t, all[0].WriteMermaid)+"```\n", name)
		for _, one := range all[1:] {
			require.Contains(t, page, "\n## "+string(one.Part)+"\n\n```mermaid\n"+write(t, one.WriteMermaid)+"```\n", name)
		}
	}
}

// A box around a single state says nothing.
func TestAPartWithOneStateHasNoBox(t *testing.T) {
	d := latest()
	d.Only = states.SetOf(states.Cleaning, states.Deleting, states.Error)
	dot := write(t, d.WriteDOT)
	require.NotContains(t, dot, "part-cleaning")
	require.Contains(t, dot, "part-tear_down")
	require.NotContains(t, write(t, d.WriteMermaid), "part_cleaning")
	require.Equal(t, "Cleaning", read(t, d).States[1].Part)
	require.Equal(t, states.Cleaning, read(t, d).States[1].State)

	d = latest()
	d.Part = graph.PartDeployment // error and deleting are next to it
	dot = write(t, d.WriteDOT)
	require.Contains(t, dot, "part-deployment")
	require.NotContains(t, dot, "part-tear_down")
}

// The edge to active passes the states of the box that it leaves; an edge between boxes passes others.
func TestAStepOfTheSpineIsAsLongAsTheBoxThatItLeaves(t *testing.T) {
	for _, test := range []struct {
		series states.Series
		only   []states.State
		ranks  int
	}{
		{states.Latest(), []states.State{states.Deploying, states.DeployWait, states.Active}, 4},
		{states.Latest(), []states.State{states.Deploying, states.Active}, 1},
		{states.Kilo, []states.State{states.Manageable, states.Cleaning}, 3},
	} {
		d := graph.Diagram{Table: test.series.Table(), Only: states.SetOf(test.only...)}
		dot := write(t, d.WriteDOT)
		require.Equal(t, test.ranks > 1, strings.Contains(dot, fmt.Sprintf("minlen=\"%d\"", test.ranks)), "%v", test)
		require.Equal(t, test.ranks > 1, strings.Contains(dot, "minlen"), "%v", test)
	}
}
