// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"slices"

	"github.com/ironstate/ironstate/states"
)

// work numbers the kinds of the conductor's work, which may fail and be retried. A
// [Step] names a kind by its state in workStates.
type work uint8

const (
	noWork       work = iota // a request moves the node at once
	verification             // follows manage out of enroll; when it fails, the node is in enroll again
	inspection               // follows inspect
	cleaning                 // follows provide, clean and a tear-down
	deployment               // follows active and rebuild
	adoption                 // follows adopt
	rescue                   // follows rescue
	unrescue                 // follows unrescue
	service                  // follows service
	tearDown                 // follows deleted, and ends when cleaning begins; when it fails, the node is in error

	numWorks
)

// workStates has the state in which the conductor does each kind of work.
var workStates = [numWorks]states.State{
	verification: states.Verifying,
	inspection:   states.Inspecting,
	cleaning:     states.Cleaning,
	deployment:   states.Deploying,
	adoption:     states.Adopting,
	rescue:       states.Rescuing,
	unrescue:     states.Unrescuing,
	service:      states.Servicing,
	tearDown:     states.Deleting,
}

// workOf has the kind of work of each state in which work is in progress, on hold or
// failed.
var workOf = [maxStates]work{
	states.Verifying:    verification,
	states.Inspecting:   inspection,
	states.InspectWait:  inspection,
	states.InspectFail:  inspection,
	states.Cleaning:     cleaning,
	states.CleanWait:    cleaning,
	states.CleanHold:    cleaning,
	states.CleanFail:    cleaning,
	states.Deploying:    deployment,
	states.DeployWait:   deployment,
	states.DeployHold:   deployment,
	states.DeployFail:   deployment,
	states.Adopting:     adoption,
	states.AdoptFail:    adoption,
	states.Rescuing:     rescue,
	states.RescueWait:   rescue,
	states.RescueFail:   rescue,
	states.Unrescuing:   unrescue,
	states.UnrescueFail: unrescue,
	states.Servicing:    service,
	states.ServiceWait:  service,
	states.ServiceHold:  service,
	states.ServiceFail:  service,
	states.Deleting:     tearDown,
	states.Error:        tearDown,
}

// tries counts how often each kind of work was started since the goal was last
// reached. Failed work that the plan did not start counts as tried once.
type tries [numWorks]uint8

// MarshalJSON returns an object of the numbers that are not 0, by workStates.
func (t tries) MarshalJSON() ([]byte, error) {
	set := make(map[states.State]uint8)
	for w, n := range t {
		if n > 0 {
			set[workStates[w]] = n
		}
	}
	return json.Marshal(set)
}

// UnmarshalJSON takes the output of MarshalJSON; t keeps its value on error.
func (t *tries) UnmarshalJSON(data []byte) error {
	var set map[states.State]uint8
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	var decoded tries
	for s, n := range set {
		w := slices.Index(workStates[1:], s)
		if w < 0 {
			unknown := &states.UnknownError{Kind: "work", Word: s.String()}
			for _, known := range workStates[1:] {
				unknown.Known = append(unknown.Known, known.String())
			}
			return unknown
		}
		decoded[1+w] = n
	}
	*t = decoded
	return nil
}
