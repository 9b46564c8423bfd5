package plan

import (
	"encoding/json"

	"github.com/ironstate/ironstate/internal/enum"
	"github.com/ironstate/ironstate/states"
)

// Work is a piece of the conductor's work: what a node waits for, and what may
// fail and be tried again. Its text form is the word of the constant in lower
// case. A Work is a plain value and may be shared freely.
type Work uint8

const (
	// NoWork is the zero Work.
	NoWork Work = iota
	// Verification: manage out of enroll. When it fails the node is in enroll
	// again.
	Verification
	// Inspection: inspect.
	Inspection
	// Cleaning: provide, clean, and what follows a tear-down.
	Cleaning
	// Deployment: active and rebuild.
	Deployment
	// Adoption: adopt.
	Adoption
	// Rescue: rescue.
	Rescue
	// Unrescue: unrescue.
	Unrescue
	// Service: service.
	Service
	// TearDown: deleted, up to where cleaning begins. When it fails the node is
	// in error.
	TearDown

	numWorks
)

var workWords = &enum.Words{Type: "Work", Kind: "work", Words: []string{
	"none", "verification", "inspection", "cleaning", "deployment", "adoption", "rescue", "unrescue", "service", "teardown",
}}

// String returns the word, or a form like "Work(99)" for a number that is none.
func (w Work) String() string { return workWords.String(uint8(w)) }

// MarshalText returns the word. A number that is no work is a
// [*states.UnknownError].
func (w Work) MarshalText() ([]byte, error) { return workWords.Marshal(uint8(w)) }

// UnmarshalText takes what MarshalText returns; w keeps its value on error.
func (w *Work) UnmarshalText(text []byte) error { return enum.Unmarshal(workWords, w, text) }

// workOf has the work that a state belongs to: is it under way there, held or
// failed.
var workOf = [maxStates]Work{
	states.Verifying:    Verification,
	states.Inspecting:   Inspection,
	states.InspectWait:  Inspection,
	states.InspectFail:  Inspection,
	states.Cleaning:     Cleaning,
	states.CleanWait:    Cleaning,
	states.CleanHold:    Cleaning,
	states.CleanFail:    Cleaning,
	states.Deploying:    Deployment,
	states.DeployWait:   Deployment,
	states.DeployHold:   Deployment,
	states.DeployFail:   Deployment,
	states.Adopting:     Adoption,
	states.AdoptFail:    Adoption,
	states.Rescuing:     Rescue,
	states.RescueWait:   Rescue,
	states.RescueFail:   Rescue,
	states.Unrescuing:   Unrescue,
	states.UnrescueFail: Unrescue,
	states.Servicing:    Service,
	states.ServiceWait:  Service,
	states.ServiceHold:  Service,
	states.ServiceFail:  Service,
	states.Deleting:     TearDown,
	states.Error:        TearDown,
}

// Counts is a number for each kind of work, as in Counts{Deployment: 2}. It
// compares with ==. Its JSON is an object of those that are not 0.
type Counts [numWorks]uint8

// MarshalJSON implements [json.Marshaler].
func (c Counts) MarshalJSON() ([]byte, error) {
	set := make(map[Work]uint8)
	for w, n := range c {
		if n > 0 {
			set[Work(w)] = n
		}
	}
	return json.Marshal(set)
}

// UnmarshalJSON takes what MarshalJSON returns; c keeps its value on error.
func (c *Counts) UnmarshalJSON(data []byte) error {
	var set map[Work]uint8
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	*c = Counts{}
	for w, n := range set {
		c[w] = n
	}
	return nil
}
