// SPDX-License-Identifier: Apache-2.0

// Properties checks a team's own state machine with package statestest against the table
// of the series that the team runs. It finds a bug, shrunk to the few events that show
// it, and nothing in the repaired machine.
//
//	go run ./examples/properties
//
// The team itself has this check as a test, beside a property of its own that it checks with
// rapid, see main_test.go. The exit status is 1 unless only the first machine is refused.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/states/statestest"
)

// table is the machine of the series that the team runs.
var table = states.Antelope.Table()

func main() {
	if bug, rest := check(endsAtFirst), check(ends); bug == nil || rest != nil {
		os.Exit(1)
	}
}

// check checks the machine in which these events end work, and prints the result.
func check(ends []string) error {
	fmt.Printf("The machine in which work ends with %s:\n", strings.Join(ends, ", "))
	if difference := statestest.Check(table, start(ends)); difference != nil {
		fmt.Println(" ", difference)
		return difference
	}
	fmt.Printf("  OK, as the table of %v\n", table.Series())
	return nil
}

// Machine is a state machine that a team has written for Ironic 2023.1 without this
// library: words, maps, and a field for the work that waits.
type Machine struct {
	state string
	back  string   // the work to resume after a wait; empty if no work waits
	ends  []string // the events that end work, after which it is not resumed
}

var (
	// endsAtFirst has the bug: work may also end while it waits.
	endsAtFirst = []string{"done"}
	ends        = []string{"done", "fail", "abort", "delete"}
)

// newMachine returns the machine of a node in a stored state, as after a restart.
func newMachine(state string, ends []string) (*Machine, error) {
	if _, known := moves[state]; !known {
		return nil, fmt.Errorf("unknown state %q", state)
	}
	return &Machine{state: state, back: waitOf[state], ends: ends}, nil
}

// State returns the node's state. The team stores nothing else.
func (m *Machine) State() string { return m.state }

// Fire moves the node by an event.
func (m *Machine) Fire(event string) error {
	to, ok := moves[m.state][event]
	if !ok {
		return fmt.Errorf("no %s in %s", event, m.state)
	}
	switch event {
	case "wait":
		if m.back == "" { // the first wait of this work
			m.back = m.state
		}
	case "resume":
		to = m.back
	}
	for _, end := range m.ends {
		if event == end {
			m.back = ""
		}
	}
	m.state = to
	return nil
}

// waitOf holds the work that waits in a state.
var waitOf = map[string]string{
	"inspect wait":   "inspecting",
	"clean wait":     "cleaning",
	"wait call-back": "deploying",
	"rescue wait":    "rescuing",
}

const anyWork = "..." // stands for the work that waits

// moves holds the state that each event leads to from each state.
var moves = map[string]map[string]string{
	"enroll":          {"manage": "verifying"},
	"verifying":       {"done": "manageable", "fail": "enroll"},
	"manageable":      {"inspect": "inspecting", "provide": "cleaning", "clean": "cleaning", "adopt": "adopting"},
	"available":       {"manage": "manageable", "deploy": "deploying"},
	"active":          {"rebuild": "deploying", "rescue": "rescuing", "delete": "deleting"},
	"inspecting":      {"done": "manageable", "fail": "inspect failed", "wait": "inspect wait"},
	"inspect wait":    {"done": "manageable", "fail": "inspect failed", "abort": "inspect failed"},
	"inspect failed":  {"inspect": "inspecting", "manage": "manageable"},
	"cleaning":        {"done": "available", "manage": "manageable", "fail": "clean failed", "wait": "clean wait"},
	"clean wait":      {"resume": anyWork, "fail": "clean failed", "abort": "clean failed"},
	"clean failed":    {"manage": "manageable"},
	"deploying":       {"done": "active", "fail": "deploy failed", "wait": "wait call-back"},
	"wait call-back":  {"resume": anyWork, "fail": "deploy failed", "delete": "deleting"},
	"deploy failed":   {"deploy": "deploying", "rebuild": "deploying", "delete": "deleting"},
	"adopting":        {"done": "active", "fail": "adopt failed"},
	"adopt failed":    {"adopt": "adopting", "manage": "manageable"},
	"rescuing":        {"done": "rescue", "fail": "rescue failed", "wait": "rescue wait"},
	"rescue wait":     {"resume": anyWork, "fail": "rescue failed", "abort": "rescue failed", "delete": "deleting"},
	"rescue failed":   {"rescue": "rescuing", "unrescue": "unrescuing", "delete": "deleting"},
	"rescue":          {"rescue": "rescuing", "unrescue": "unrescuing", "delete": "deleting"},
	"unrescuing":      {"done": "active", "fail": "unrescue failed"},
	"unrescue failed": {"rescue": "rescuing", "unrescue": "unrescuing", "delete": "deleting"},
	"deleting":        {"clean": "cleaning", "fail": "error"},
	"error":           {"delete": "deleting", "rebuild": "deploying"},
}

// adapter adapts a Machine to statestest.Machine, with this library's types.
type adapter struct{ *Machine }

// Current implements [statestest.Machine].
func (a adapter) Current() states.State {
	state, _ := states.Parse(a.State()) // NoState for a word that no series has
	return state
}

// Fire implements [statestest.Machine].
func (a adapter) Fire(event states.Event) error { return a.Machine.Fire(event.String()) }

// start returns a Start for machines in which these events end work.
func start(ends []string) statestest.Start {
	return func(state, _ states.State) (statestest.Machine, error) {
		m, err := newMachine(state.String(), ends)
		if err != nil {
			return nil, err
		}
		return adapter{m}, nil
	}
}
