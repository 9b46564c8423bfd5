// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// A simulation has the data that the page needs to simulate a node in any series: the moves of its nodes by package
// machine, and the API's answers by package states. Words, nodes, reasons and rows are numbered by their places in
// these lists. First and Last are the first and the last series for which an entry holds, by their places in the page's
// list.
type simulation struct {
	Words   []string          `json:"words"` // the API's words
	Nodes   [][2]int          `json:"nodes"` // state, and target or -1
	Moves   []simulatedMove   `json:"moves"`
	Reasons []answer          `json:"reasons"`
	Rows    [][]int           `json:"rows"` // the number of the reason for each word
	Answers []simulatedAnswer `json:"answers"`

	series int // the number of the current series
}

// move is the effect of an input on a node.
type move struct {
	Kind  moveKind `json:"kind"`
	From  int      `json:"from"`  // the node; for a start the state
	Input int      `json:"input"` // the word of a request, or the event of a report
	To    int      `json:"to"`    // the node
}

type moveKind string

const (
	starts   moveKind = "start"   // the reader chooses a state
	requests moveKind = "request" // a client sends a request
	reports  moveKind = "report"  // the conductor reports an event
)

type simulatedMove struct {
	move
	First int `json:"first"`
	Last  int `json:"last"`
}

// answer is an answer of the API to a request. In its text {series} and {max} stand for the series and for its newest
// API version.
type answer struct {
	Status int    `json:"status"`
	Phrase string `json:"phrase"`
	Text   string `json:"text,omitempty"` // why the API refuses the request
}

// simulatedAnswer is the answers in a state.
type simulatedAnswer struct {
	State int `json:"state"`
	// Since has pairs of a minor version and the number of the row that holds from it on.
	Since [][2]int `json:"since"`
	First int      `json:"first"`
	Last  int      `json:"last"`
}

// newSimulation returns the simulation of all series. numbers are the numbers of the states.
func newSimulation(numbers map[states.State]int) (*simulation, error) {
	s := &simulation{series: -1}
	for verb := range states.Verbs() {
		s.Words = append(s.Words, verb)
	}
	s.Words = append(s.Words, states.EventRebuild.Verb()) // the API accepts it although it is not among Verbs
	slices.Sort(s.Words)
	for series := range states.AllSeries() {
		s.series++
		t := series.Table()
		if err := s.addMoves(t, numbers); err != nil {
			return nil, err
		}
		for from := range t.States().All() {
			if err := s.addAnswers(t, from, numbers[from]); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// addMoves adds the moves of all nodes that have a state with its default target, and of the nodes that these become.
func (s *simulation) addMoves(t *states.Table, numbers map[states.State]int) error {
	var queue []machine.Node
	seen := map[machine.Node]bool{}
	number := func(n machine.Node) int {
		n.LastError = ""
		if !seen[n] {
			seen[n] = true
			queue = append(queue, n)
		}
		key := [2]int{numbers[n.State], -1}
		if n.Target != states.NoState {
			key[1] = numbers[n.Target]
		}
		return place(&s.Nodes, func(other [2]int) bool { return other == key }, key)
	}
	for from := range t.States().All() {
		s.addMove(move{starts, numbers[from], 0, number(machine.Node{State: from, Target: t.Target(from)})})
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for i, word := range s.Words {
			next, err := n.Request(t, word, t.Series().MaxAPIVersion())
			if err == nil {
				s.addMove(move{requests, number(n), i, number(next)})
			} else if !errors.As(err, new(*states.RequestError)) {
				return err
			}
		}
		for event := range states.AllEvents() {
			next, err := n.Report(t, event, "")
			if err == nil {
				s.addMove(move{reports, number(n), int(event) - 1, number(next)})
			} else if !errors.As(err, new(*machine.EventError)) {
				return err
			}
		}
	}
	return nil
}

// addMove adds a move of the current series.
func (s *simulation) addMove(m move) {
	same := func(other simulatedMove) bool { return other.move == m && other.Last == s.series-1 }
	s.Moves[place(&s.Moves, same, simulatedMove{move: m, First: s.series})].Last = s.series
}

// addAnswers adds the answers in a state of the current series.
func (s *simulation) addAnswers(t *states.Table, from states.State, number int) error {
	var since [][2]int
	for _, v := range s.versions(t, from) {
		row := make([]int, len(s.Words))
		for i, word := range s.Words {
			a, err := answerOf(t, from, word, v)
			if err != nil {
				return err
			}
			row[i] = place(&s.Reasons, func(other answer) bool { return other == a }, a)
		}
		n := place(&s.Rows, func(other []int) bool { return slices.Equal(other, row) }, row)
		if len(since) == 0 || since[len(since)-1][1] != n {
			since = append(since, [2]int{int(v), n})
		}
	}
	same := func(other simulatedAnswer) bool {
		return other.State == number && slices.Equal(other.Since, since) && other.Last == s.series-1
	}
	s.Answers[place(&s.Answers, same, simulatedAnswer{State: number, Since: since, First: s.series})].Last = s.series
	return nil
}

// versions returns, in order, minor version 1 and each version from which on the API answers a word otherwise in a
// state: the versions that refusals name as the oldest acceptable ones.
func (s *simulation) versions(t *states.Table, from states.State) []states.APIVersion {
	versions := []states.APIVersion{1}
	for _, word := range s.Words {
		var refused *states.RequestError
		for v := states.APIVersion(1); ; v = refused.Minimum {
			_, err := t.Request(from, word, v)
			if !errors.As(err, &refused) || !errors.Is(err, states.ErrNotAcceptable) || refused.Minimum > t.Series().MaxAPIVersion() {
				break
			}
			versions = append(versions, refused.Minimum)
		}
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// place returns the index of the first element for which equal is true. It appends one if there is none.
func place[T any](list *[]T, equal func(T) bool, one T) int {
	n := slices.IndexFunc(*list, equal)
	if n < 0 {
		n = len(*list)
		*list = append(*list, one)
	}
	return n
}

// answerOf returns the API's answer to a request.
func answerOf(t *states.Table, from states.State, word string, v states.APIVersion) (answer, error) {
	_, err := t.Request(from, word, v)
	if err == nil {
		return answer{Status: http.StatusAccepted, Phrase: http.StatusText(http.StatusAccepted)}, nil
	}
	var refused *states.RequestError
	if !errors.As(err, &refused) {
		return answer{}, err
	}
	text := refused.Reason()
	for end, sign := range map[string]string{refused.Series.String(): "{series}", refused.Maximum.String(): "{max}"} {
		if before, found := strings.CutSuffix(text, " "+end); found {
			text = before + " " + sign
		}
	}
	return answer{Status: refused.HTTPStatus(), Phrase: http.StatusText(refused.HTTPStatus()), Text: text}, nil
}
