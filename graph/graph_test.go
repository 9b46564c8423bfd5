// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// latest returns the diagram of the latest table without options.
func latest() graph.Diagram { return graph.Diagram{Table: states.Latest().Table()} }

// A document is the decoded output of WriteJSON.
type document struct {
	Title, Description string
	Series, Since      states.Series
	APIVersion         states.APIVersion `json:"api_version"`
	States             []struct {
		State, Target              states.State
		Phase                      states.Phase
		Part, Description, Tooltip string
		Link, Change               string
		Stable, Current, Taken     bool
		Requests                   []struct {
			Verb             string
			APIVersion       states.APIVersion `json:"api_version"`
			Requires, Change string
			Through          []states.State
			To               states.State
		}
	}
	Transitions []transition
	Events      []struct {
		Event       states.Event
		Verbs       []string
		Description string
	}
}

type transition struct {
	states.Transition
	Cause, Change string
	Verb          *string
	Taken         bool
}

func (d document) states() states.Set {
	var set states.Set
	for _, s := range d.States {
		set = set.Union(states.SetOf(s.State))
	}
	return set
}

func (d document) transitions() []states.Transition {
	var rows []states.Transition
	for _, t := range d.Transitions {
		rows = append(rows, t.Transition)
	}
	return rows
}

func read(t *testing.T, d graph.Diagram) document {
	t.Helper()
	var doc document
	decoder := json.NewDecoder(strings.NewReader(write(t, d.WriteJSON)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&doc))
	return doc
}

func write(t testing.TB, to func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, to(&out))
	return out.String()
}

// writers holds the package's writer of each format, by the format's name.
var writers = map[string]func(graph.Diagram, io.Writer) error{
	"DOT":      graph.Diagram.WriteDOT,
	"Mermaid":  graph.Diagram.WriteMermaid,
	"Markdown": graph.Diagram.WriteMarkdown,
	"JSON":     graph.Diagram.WriteJSON,
}

// cases returns a diagram for each option, and one with all options.
func cases(t testing.TB) map[string]graph.Diagram {
	t.Helper()
	table := states.Latest().Table()
	path, err := graph.Through(table, states.Enroll, states.Verifying, states.Manageable, states.Cleaning, states.CleanFail)
	require.NoError(t, err)
	describe := func(s states.State) string { return "all about " + s.String() }
	link := func(s states.State) string {
		return "https://example.org/states?of=" + strings.ReplaceAll(s.String(), " ", "+")
	}
	return map[string]graph.Diagram{
		"plain":         {Table: table},
		"since":         {Table: table, Since: states.Rocky.Table()},
		"from":          {Table: table, From: states.Active},
		"only":          {Table: table, Only: table.Inspection()},
		"part":          {Table: table, Part: graph.PartRescue},
		"only nothing":  {Table: table, Only: states.SetOf(states.Deleted)},
		"requests":      {Table: table, RequestsOnly: true},
		"current":       {Table: table, Current: states.Error},
		"path":          {Table: table, Path: path},
		"texts":         {Table: table, Title: `A "title" & <more>`, Description: `back\slash`, Describe: describe},
		"link":          {Table: table, Link: link},
		"picture":       {Table: table, Picture: "states.svg"},
		"left to right": {Table: table, LeftToRight: true},
		"dark":          {Table: table, Dark: true},
		"no legend":     {Table: table, NoLegend: true},
		"all": {
			Table: table, Since: states.Kilo.Table(), From: states.Manageable, RequestsOnly: true,
			Current: states.CleanFail, Path: path, Title: "title", Description: "description",
			Describe: describe, Link: link, LeftToRight: true, Dark: true, NoLegend: true,
		},
	}
}

func TestEveryFormatIsTheSameEachTime(t *testing.T) {
	for name, d := range cases(t) {
		for format, to := range writers {
			first := write(t, func(w io.Writer) error { return to(d, w) })
			for range 20 {
				require.Equal(t, first, write(t, func(w io.Writer) error { return to(d, w) }), "%s of %s", format, name)
			}
		}
	}
}

func TestBadValuesAreErrors(t *testing.T) {
	step := states.Transition{From: states.Enroll, Event: states.EventDeploy, To: states.Active}
	link := func(address string) func(states.State) string {
		return func(states.State) string { return address }
	}
	for name, c := range map[string]struct {
		change func(*graph.Diagram)
		text   string
	}{
		"no table":           {func(d *graph.Diagram) { d.Table = nil }, "no table"},
		"zero table":         {func(d *graph.Diagram) { d.Table = new(states.Table) }, "no table"},
		"unknown part":       {func(d *graph.Diagram) { d.Part = "Cooking" }, `unknown part "Cooking"`},
		"from elsewhere":     {func(d *graph.Diagram) { d.From = states.Deleted }, "is not one of 2026.2's"},
		"from a number":      {func(d *graph.Diagram) { d.From = 200 }, "is not one of 2026.2's"},
		"current elsewhere":  {func(d *graph.Diagram) { d.Current = states.Rebuild }, "is not one of 2026.2's"},
		"path not in table":  {func(d *graph.Diagram) { d.Path = []states.Transition{step} }, "no such transition"},
		"path of nothing":    {func(d *graph.Diagram) { d.Path = make([]states.Transition, 1) }, "no such transition"},
		"since a newer":      {func(d *graph.Diagram) { d.Table, d.Since = states.Zed.Table(), d.Table }, "not an older series"},
		"link with script":   {func(d *graph.Diagram) { d.Link = link("javascript:alert(1)") }, "invalid link"},
		"link of no address": {func(d *graph.Diagram) { d.Link = link("http://[") }, "invalid link"},
	} {
		d := latest()
		c.change(&d)
		for format, to := range writers {
			var out bytes.Buffer
			require.ErrorContains(t, to(d, &out), c.text, "%s: %s", name, format)
			require.Zero(t, out.Len(), "%s: %s wrote something", name, format)
		}
	}
}

func TestStateErrorSaysWhatWouldHaveBeenRight(t *testing.T) {
	d := graph.Diagram{Table: states.Kilo.Table(), Current: states.Enroll}
	require.EqualError(t, d.WriteDOT(io.Discard),
		`state "enroll" is not one of kilo's: `+states.Kilo.Table().States().String())
}

func TestAZeroDiagramOrNilWriterIsAnError(t *testing.T) {
	for format, to := range writers {
		require.ErrorAs(t, to(graph.Diagram{}, io.Discard), new(*machine.StateError), format)
	}
	_, _, err := graph.Diagram{}.Caption()
	require.ErrorAs(t, err, new(*machine.StateError))
}

func TestCaptionIsWhatTheFormatsSay(t *testing.T) {
	for name, d := range cases(t) {
		title, description, err := d.Caption()
		require.NoError(t, err)
		doc := read(t, d)
		require.Equal(t, []string{doc.Title, doc.Description}, []string{title, description}, name)
	}
}

func TestAWritersErrorIsReturned(t *testing.T) {
	full := errors.New("disk full")
	for format, to := range writers {
		require.ErrorIs(t, to(latest(), failing{full}), full, format)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
