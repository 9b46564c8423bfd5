// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"

	"github.com/ironstate/ironstate/states"
)

// Desired is a goal for a node, with the policy for reaching it and the progress so far.
// A Desired is a value: store it next to the node, for instance as JSON, compare it with
// ==, share copies.
type Desired struct {
	Goal Goal `json:"goal"`
	// Version is the API version of the requests; none is 1.1, as in Ironic. A version
	// above the series' highest counts as the highest, so that a server newer than the
	// table breaks nothing; see Step.Version.
	Version states.APIVersion `json:"version"`
	// Policy permits the plan to end, destroy and repeat work; the zero Policy permits
	// none of these.
	Policy Policy `json:"policy"`
	// Fields are further fields of the node's record. Read them again before each call;
	// they are not stored.
	Fields NodeFields `json:"-"`
	// Progress is Step.Progress of the last answer. A new goal begins with the zero
	// Progress; to reach the same goal again, reset it.
	Progress Progress `json:"progress"`
}

// Policy permits the plan to end, destroy and repeat work; the package comment has the
// details. A Policy is a value and may be shared freely.
type Policy struct {
	// MayAbort permits the plan to end work that waits or is on hold and would not bring
	// the node nearer to the goal. Without it, the plan waits until such work has
	// ended.
	MayAbort bool `json:"may_abort"`
	// MayDestroy permits the plan to tear down or overwrite a workload if no other
	// route leads to the goal.
	MayDestroy bool `json:"may_destroy"`
	// Retries is how often the plan may start each kind of work again after it
	// failed.
	Retries uint8 `json:"retries"`
}

// Policies returns the policies without MayAbort, the strictest first: the zero Policy, one with so many retries, one
// that may destroy a workload, and one with both. The first with which a [Route] ends in Done says what a goal costs.
func Policies(retries uint8) []Policy {
	return []Policy{{}, {Retries: retries}, {MayDestroy: true}, {MayDestroy: true, Retries: retries}}
}

// Progress is the progress toward a goal. It is opaque to callers; its JSON form is for
// storing it. A Progress is a value: compare it with ==, share copies.
type Progress struct {
	tried tries
	stage stage
}

type progressJSON struct {
	Tried tries `json:"tried"`
	Stage stage `json:"stage,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (p Progress) MarshalJSON() ([]byte, error) {
	return json.Marshal(progressJSON{p.tried, p.stage})
}

// UnmarshalJSON takes the output of MarshalJSON; p keeps its value on error.
func (p *Progress) UnmarshalJSON(data []byte) error {
	var fields progressJSON
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	switch fields.Stage {
	case open, asked, finished:
	default:
		return &states.UnknownError{Kind: "stage", Word: string(fields.Stage), Known: []string{string(asked), string(finished)}}
	}
	*p = Progress{fields.Tried, fields.Stage}
	return nil
}

// A stage is the progress of work that must be done once. For the goal of a state it
// stays open.
type stage string

const (
	open     stage = ""         // not requested yet, or failed
	asked    stage = "asked"    // requested, and not known to have ended
	finished stage = "finished" // done
)
