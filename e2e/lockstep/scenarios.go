// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

//go:embed scenarios.json
var scenariosText []byte

// scenarios are the scenarios of the comparisons that are listed one by one, and the intended differences.
var scenarios = parseScenarios(scenariosText)

type scenarioLists struct {
	Refusals  []refusal
	Facts     []fact
	Requests  []factRequest
	Power     []powerLife
	OnPurpose []Purpose `json:"on_purpose"`
}

// A refusal is an answer of the API that does not come from the state machine:
// [states.Table.Request] accepts the request and leaves the other checks to its caller.
// The refusals are those that Ironic's API can be made to give with fake hardware.
type refusal struct {
	Reason string // why the API refuses
	State  states.State
	Set    columns        // of the node, in addition to the columns of a node without work
	Body   map[string]any // of the request
	Status int
	Text   string // part of the fault
}

// A fact is a field other than the state for which Ironic refuses requests: as columns of its database, and as
// [plan.NodeFields].
type fact struct {
	Name   string
	Set    columns
	Fields plan.NodeFields
}

// A factRequest is a request that the API accepts for a node at rest, with its state and a goal. There is one for each
// such request.
type factRequest struct {
	From states.State
	Goal plan.Goal
	Verb string
}

// A powerLife is a sequence of events for a node whose power is synced.
type powerLife struct {
	Name        string
	State       states.State
	Power       states.Power // recorded at the start
	Maintenance bool         // set by an operator
	Failed      bool         // with earlierError as last error
	Events      []string     // see powerEvents
	// Documented selects the behaviour that Ironic documents: the recorded power
	// state stays when reading fails.
	Documented bool
}

// parseScenarios parses scenarios.json. It panics for malformed lists.
func parseScenarios(text []byte) (s scenarioLists) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		panic(fmt.Sprintf("lockstep: scenarios.json: %v", err))
	}
	return s
}
