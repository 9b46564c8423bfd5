package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Work is a kind of work of the conductor, which may fail and be retried. Its text
// form is the constant's name in lower case. A Work is a plain value and may be
// shared freely.
type Work uint8

const (
	// NoWork is the zero Work: a request moves the node at once.
	NoWork Work = iota
	// Verification follows manage out of enroll. When it fails, the node is in
	// enroll again.
	Verification
	// Inspection follows inspect.
	Inspection
	// Cleaning follows provide, clean and a tear-down.
	Cleaning
	// Deployment follows active and rebuild.
	Deployment
	// Adoption follows adopt.
	Adoption
	// Rescue follows rescue.
	Rescue
	// Unrescue follows unrescue.
	Unrescue
	// Service follows service.
	Service
	// TearDown follows deleted, and ends where cleaning begins. When it fails, the
	// node is in error.
	TearDown

	numWorks
)

var workWords = [numWorks]string{
	"none", "verification", "inspection", "cleaning", "deployment", "adoption", "rescue", "unrescue", "service", "teardown",
}

// String returns the word, or a form like "Work(99)" for a number that has none.
func (w Work) String() string {
	if w < numWorks {
		return workWords[w]
	}
	return fmt.Sprintf("Work(%d)", uint8(w))
}

// MarshalText returns the word. A number without one is a [*states.UnknownError].
func (w Work) MarshalText() ([]byte, error) {
	if w >= numWorks {
		return nil, unknownWork(w.String())
	}
	return []byte(workWords[w]), nil
}

// UnmarshalText takes the output of MarshalText; w keeps its value on
// error.
func (w *Work) UnmarshalText(text []byte) error {
	n := slices.Index(workWords[:], string(text))
	if n < 0 {
		return unknownWork(string(text))
	}
	*w = Work(n)
	return nil
}

func unknownWork(word string) error {
	return &states.UnknownError{Kind: "work", Word: word, Known: slices.Clone(workWords[:])}
}

// workOf has the kind of work that a state belongs to: it is under way there, held
// or failed.
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

// Retries has the number of retries for each kind of work, as in
// Retries{Deployment: 2}. It compares with ==. Its JSON is an object of the numbers
// that are not 0.
type Retries [numWorks]uint8

// MarshalJSON implements [json.Marshaler].
func (r Retries) MarshalJSON() ([]byte, error) {
	set := make(map[Work]uint8)
	for w, n := range r {
		if n > 0 {
			set[Work(w)] = n
		}
	}
	return json.Marshal(set)
}

// UnmarshalJSON takes the output of MarshalJSON; r keeps its value on error.
func (r *Retries) UnmarshalJSON(data []byte) error {
	var set map[Work]uint8
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	*r = Retries{}
	for w, n := range set {
		r[w] = n
	}
	return nil
}
