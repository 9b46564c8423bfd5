// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

//go:embed scenarios.json
var scenariosText []byte

// scenarios are the lives of the comparison of power sync, and the intended differences of all comparisons.
var scenarios = parseTable[scenarioLists]("scenarios.json", scenariosText)

type scenarioLists struct {
	Power     []powerLife
	OnPurpose []Purpose `json:"on_purpose"`
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

// parseTable parses the text of a file. It panics for a malformed one.
func parseTable[T any](file string, text []byte) (table T) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&table); err != nil {
		panic(fmt.Sprintf("lockstep: %s: %v", file, err))
	}
	return table
}
