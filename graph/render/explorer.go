// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/ironstate/ironstate/graph"
	"github.com/ironstate/ironstate/graph/internal/document"
	"github.com/ironstate/ironstate/graph/internal/shown"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// An explorer is the data of the page. Other fields refer to states, events, transitions
// and routes by their indexes in these lists.
type explorer struct {
	Start       opening              `json:"start"`
	States      []exploredState      `json:"states"`
	Events      []exploredEvent      `json:"events"`
	Transitions []exploredTransition `json:"transitions"`
	Series      []exploredTable      `json:"series"`
	Shown       []shownAs            `json:"shown"`
	Goals       []plan.Goal          `json:"goals"`
	Verbs       []string             `json:"verbs"`  // the verbs in routes: "a" is the first, "b" the second
	Routes      []string             `json:"routes"` // from each state, with commas between them

	Simulation *simulation `json:"simulation"`

	numbers map[states.State]int
}

// An opening is the reader's choice with which the page opens.
type opening struct {
	Series   string      `json:"series"`
	With     string      `json:"with,omitempty"`
	State    string      `json:"state,omitempty"`
	Requests bool        `json:"requests,omitempty"`
	Path     [][2]string `json:"path,omitempty"` // pairs of states
}

type exploredState struct {
	Name    string `json:"name"`
	Part    string `json:"part"`
	Phase   string `json:"phase"`
	Stable  bool   `json:"stable"`
	Text    string `json:"text"`
	Link    string `json:"link,omitempty"`
	Through []int  `json:"through"` // the later states of the work in progress, if it succeeds
	End     int    `json:"end"`     // the state in which it ends
}

type exploredEvent struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// An exploredTransition is a transition as one or more series have it.
type exploredTransition struct {
	exploredRow
	Words   []exploredWord `json:"words,omitempty"`
	Through []int          `json:"through,omitempty"` // the states that a request leads through
}

type exploredRow struct {
	From     int    `json:"from"`
	Event    int    `json:"event"`
	To       int    `json:"to"`
	Cause    string `json:"cause"`
	Requires string `json:"requires,omitempty"` // the field that a request must have
	End      int    `json:"end"`                // the state in which a request ends
}

func (t exploredTransition) equals(other exploredTransition) bool {
	return t.exploredRow == other.exploredRow && slices.Equal(t.Words, other.Words) && slices.Equal(t.Through, other.Through)
}

// An exploredWord is a word of the API, with the oldest version that accepts it.
type exploredWord struct {
	Verb  string `json:"verb"`
	Since int    `json:"since"` // the minor number
}

type exploredTable struct {
	Name        string  `json:"name"`
	Max         int     `json:"max"`
	States      []int   `json:"states"`
	Transitions []int   `json:"transitions"`
	Begins      []int   `json:"begins"` // the minor versions that add requests, 1 first
	Plans       [][]int `json:"plans"`  // the routes to each goal, for each of Begins
}

// shownAs says that API versions below Below show a state as As.
type shownAs struct {
	State int    `json:"state"`
	Below int    `json:"below"`
	As    string `json:"as"`
}

// readDocument returns what graph writes as JSON, so that the page and other tools have the same.
func readDocument(d graph.Diagram) (*document.Diagram, error) {
	var out bytes.Buffer
	if err := d.WriteJSON(&out); err != nil {
		return nil, err
	}
	doc := new(document.Diagram)
	return doc, json.Unmarshal(out.Bytes(), doc)
}

// newExplorer returns the data of a page that opens with the diagram d and has the states of the diagram all.
func newExplorer(d, all graph.Diagram) (*explorer, error) {
	doc, err := readDocument(all)
	if err != nil {
		return nil, err
	}
	x := &explorer{Start: openingOf(d), Goals: slices.Collect(plan.AllGoals()), numbers: make(map[states.State]int)}
	for e := range states.AllEvents() {
		x.Events = append(x.Events, exploredEvent{e.String(), e.Description()})
		if verb := e.Verb(); verb != "" {
			x.Verbs = append(x.Verbs, verb)
		}
	}
	for n, s := range doc.States {
		x.numbers[s.State] = n
	}
	for _, s := range doc.States {
		through, end := afterWork(all.Table, s.State)
		x.States = append(x.States, exploredState{
			Name: s.State.String(), Part: s.Part, Phase: string(s.Phase), Stable: s.Stable, Text: s.Description, Link: s.Link,
			Through: x.numbersOf(through), End: x.numbers[end],
		})
	}
	for s := range states.AllSeries() {
		doc, err := readDocument(graph.Diagram{Table: s.Table()})
		if err != nil {
			return nil, err
		}
		table := exploredTable{Name: s.String(), Max: int(s.MaxAPIVersion())}
		table.States = x.numbersOf(slices.Collect(s.Table().States().All()))
		table.Transitions = x.addTransitions(doc)
		table.Begins = x.versionsOf(table.Transitions)
		for _, v := range table.Begins {
			table.Plans = append(table.Plans, x.plans(s.Table(), states.APIVersion(v)))
		}
		x.Series = append(x.Series, table)
	}
	x.addShown()
	x.Simulation, err = newSimulation(x.numbers)
	return x, err
}

func openingOf(d graph.Diagram) opening {
	o := opening{Series: d.Table.Series().String(), Requests: d.RequestsOnly}
	if d.Since != nil {
		o.With = d.Since.Series().String()
	}
	if d.Current != states.NoState {
		o.State = d.Current.String()
	}
	for _, step := range d.Path {
		o.Path = append(o.Path, [2]string{step.From.String(), step.To.String()})
	}
	return o
}

func (x *explorer) numbersOf(list []states.State) []int {
	numbers := []int{}
	for _, s := range list {
		numbers = append(numbers, x.numbers[s])
	}
	return numbers
}

// addTransitions returns the indexes of a series' transitions. It adds a transition that
// equals none of an earlier series.
func (x *explorer) addTransitions(doc *document.Diagram) []int {
	var numbers []int
	for _, row := range doc.Transitions {
		t := exploredTransition{exploredRow: exploredRow{
			From: x.numbers[row.From], Event: int(row.Event) - 1, To: x.numbers[row.To], Cause: row.Cause,
		}}
		for _, s := range doc.States {
			for _, r := range s.Requests {
				if event, err := states.ParseVerb(r.Verb); err != nil || s.State != row.From || event != row.Event {
					continue
				}
				t.Words = append(t.Words, exploredWord{Verb: r.Verb, Since: int(r.APIVersion)})
				t.Requires, t.Through, t.End = r.Requires, x.numbersOf(r.Through), x.numbers[r.To]
			}
		}
		numbers = append(numbers, place(&x.Transitions, t.equals, t))
	}
	return numbers
}

// versionsOf returns, in order, minor version 1 and the oldest minor versions of the transitions' words.
func (x *explorer) versionsOf(transitions []int) []int {
	versions := []int{1}
	for _, n := range transitions {
		for _, w := range x.Transitions[n].Words {
			versions = append(versions, w.Since)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// addShown adds the states that old API versions show as another one.
func (x *explorer) addShown() {
	for v := states.APIVersion(2); v <= states.Latest().MaxAPIVersion(); v++ {
		for s, as := range shown.Before(v) {
			if n, ok := x.numbers[s]; ok {
				x.Shown = append(x.Shown, shownAs{State: n, Below: int(v), As: as})
			}
		}
	}
}
