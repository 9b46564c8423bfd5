package states

import (
	"database/sql/driver"
	"iter"
	"strconv"
)

// State is a provision state: where a node is in its life. The zero value is
// [NoState].
//
// The order of the constants is the order of ironic/common/states.py. The
// number behind a constant may change between releases of this module: store
// and send the word, as all encoders here do. A State is a plain value and may
// be shared freely.
type State uint8

// Words without a state.
const (
	// NoState is the absence of a state, upstream's NOSTATE: null in JSON and
	// SQL, "none" as text. As a target it says that the node is going nowhere.
	// Until Kilo it also was the state of a node free for use, and API versions
	// below 1.2 still show Available so.
	NoState State = 0
)

// Enrolment: the node is known, and then known to be manageable.
const (
	// Enroll ("enroll"): Ironic knows of the node and has not yet shown that it
	// can manage it. Nodes are created here since API version 1.11. A person
	// moves it on with manage, which starts verification. Power sync leaves
	// such a node alone. Stable; since Liberty.
	Enroll State = NoState + 1 + iota
	// Verifying ("verifying"): the conductor checks the power and management
	// interfaces and reads the power state with the node's credentials. It
	// moves the node on itself: to Manageable, or back to Enroll with
	// last_error. Since Liberty.
	Verifying
	// Manageable ("manageable"): Ironic has reached the hardware at least once
	// and may inspect, clean, adopt or provide it, but will not deploy to it.
	// A person moves it on. Stable; since Kilo.
	Manageable
	// Available ("available"): the node is clean, free and may be deployed.
	// A person or scheduler moves it on with deploy, or back with manage.
	// Stable; since Kilo, where it took the place of NoState.
	Available
)

// Deployment: an image is put on the node and the node is put to work.
const (
	// Active ("active"): the node is deployed and carries a workload. A person
	// moves it on: rebuild, delete, rescue or service. Stable; since Kilo.
	Active State = Available + 1 + iota
	// DeployWait ("wait call-back"): the conductor waits for the deploy
	// ramdisk to call back. The call resumes the deployment; a timeout fails
	// it; a person may delete, and since 2026.1 abort. Since Kilo.
	DeployWait
	// Deploying ("deploying"): the conductor is running deploy steps. It moves
	// the node on itself, to DeployWait, Active, DeployFail or, since 2023.2,
	// DeployHold. Since Kilo.
	Deploying
	// DeployFail ("deploy failed"): the deployment failed, timed out or was
	// aborted. A person tries again with deploy or rebuild, or deletes. Since
	// Kilo.
	DeployFail
	// DeployDone ("deploy complete"): an old word for a finished deployment,
	// once a target of the Nova driver. No series has it in its table; a
	// deployed node is Active.
	DeployDone
	// DeployHold ("deploy hold"): a hold step stopped the deployment. A person
	// lets it go on with unhold, or ends it with abort. Since 2023.2.
	DeployHold
)

// Tear-down and cleaning: the workload leaves, its traces are removed.
const (
	// Deleting ("deleting"): the workload is being torn down. The conductor
	// moves the node on itself, to Cleaning or, when it fails, Error. Since
	// Kilo.
	Deleting State = DeployHold + 1 + iota
	// Deleted ("deleted"): an old word for a finished tear-down, passed through
	// within one step in Kilo. No series has it in its table; the word is the
	// API's verb for [EventDelete].
	Deleted
	// Cleaning ("cleaning"): the conductor is running clean steps, automated
	// ones on the way to Available or those a person asked for on the way to
	// Manageable. It moves the node on itself. Since Kilo.
	Cleaning
	// CleanWait ("clean wait"): a clean step runs on the node and the conductor
	// waits for its call. The call resumes cleaning; a timeout fails it; a
	// person may abort. Since Liberty.
	CleanWait
	// CleanFail ("clean failed"): cleaning failed, timed out or was aborted. A
	// person must look and move it to Manageable. Since Kilo.
	CleanFail
	// CleanHold ("clean hold"): a hold step stopped cleaning. A person lets it
	// go on with unhold, or ends it with abort. Since 2023.2.
	CleanHold
	// Error ("error"): tearing down failed, last_error says why. A person
	// deletes again or rebuilds. Stable; since Kilo.
	Error
	// Rebuild ("rebuild"): a verb that upstream keeps among its state words.
	// No series has it in its table; see [EventRebuild].
	Rebuild
)

// Inspection: the hardware's properties are found out.
const (
	// Inspecting ("inspecting"): the conductor is inspecting the node. It moves
	// the node on itself, to Manageable, InspectFail or, since Rocky,
	// InspectWait. Since Kilo.
	Inspecting State = Rebuild + 1 + iota
	// InspectFail ("inspect failed"): inspection failed, timed out or was
	// aborted. A person inspects again or moves it to Manageable. Since Kilo.
	InspectFail
	// InspectWait ("inspect wait"): the inspection runs elsewhere (a ramdisk,
	// the inspector) and the conductor waits for it. Its result moves the node;
	// a timeout fails it; a person may abort. API versions below 1.39 show it
	// as Inspecting. Since Rocky.
	InspectWait
)

// Adoption: a node deployed by other means is taken over.
const (
	// Adopting ("adopting"): the conductor takes over a node that carries a
	// workload already. It moves the node on itself, to Active or AdoptFail.
	// Since Newton.
	Adopting State = InspectWait + 1 + iota
	// AdoptFail ("adopt failed"): the node could not be taken over. A person
	// adopts again or moves it to Manageable. Since Newton.
	AdoptFail
)

// Rescue: the node is booted into a ramdisk for repair, its workload kept.
const (
	// Rescue ("rescue"): the rescue ramdisk runs and can be logged in to. A
	// person moves it on: unrescue, rescue again or delete. Stable; since
	// Queens.
	Rescue State = AdoptFail + 1 + iota
	// RescueFail ("rescue failed"): the rescue failed, timed out or was
	// aborted. A person rescues again, unrescues or deletes. Since Queens.
	RescueFail
	// RescueWait ("rescue wait"): the conductor waits for the rescue ramdisk to
	// call back. The call resumes; a timeout fails; a person may abort or
	// delete. Since Queens.
	RescueWait
	// Rescuing ("rescuing"): the conductor is preparing the rescue. It moves
	// the node on itself, to RescueWait, Rescue or RescueFail. Since Queens.
	Rescuing
	// UnrescueFail ("unrescue failed"): the way back from rescue failed. A
	// person unrescues again, rescues or deletes. Since Queens.
	UnrescueFail
	// Unrescuing ("unrescuing"): the conductor is bringing the workload back.
	// It moves the node on itself, to Active or UnrescueFail. Since Queens.
	Unrescuing
)

// Service: steps are run on a node that carries a workload, which stays.
const (
	// Servicing ("servicing"): the conductor is running service steps. It moves
	// the node on itself, to ServiceWait, ServiceHold, Active or ServiceFail.
	// Since 2023.2.
	Servicing State = Unrescuing + 1 + iota
	// ServiceWait ("service wait"): a service step runs on the node and the
	// conductor waits for its call. The call resumes; a timeout fails; a person
	// may abort and, since 2025.1, delete. Since 2023.2.
	ServiceWait
	// ServiceFail ("service failed"): servicing failed or was aborted. A person
	// services again, rescues or, since 2025.1, deletes; since 2025.2 abort
	// takes it back to Active. Since 2023.2.
	ServiceFail
	// ServiceHold ("service hold"): a hold step stopped servicing. A person
	// lets it go on with unhold, starts over with service, or ends it with
	// abort. Since 2023.2.
	ServiceHold

	numStates
)

var stateWords = newVocabulary("state", []string{
	NoState:      "none",
	Enroll:       "enroll",
	Verifying:    "verifying",
	Manageable:   "manageable",
	Available:    "available",
	Active:       "active",
	DeployWait:   "wait call-back",
	Deploying:    "deploying",
	DeployFail:   "deploy failed",
	DeployDone:   "deploy complete",
	DeployHold:   "deploy hold",
	Deleting:     "deleting",
	Deleted:      "deleted",
	Cleaning:     "cleaning",
	CleanWait:    "clean wait",
	CleanFail:    "clean failed",
	CleanHold:    "clean hold",
	Error:        "error",
	Rebuild:      "rebuild",
	Inspecting:   "inspecting",
	InspectFail:  "inspect failed",
	InspectWait:  "inspect wait",
	Adopting:     "adopting",
	AdoptFail:    "adopt failed",
	Rescue:       "rescue",
	RescueFail:   "rescue failed",
	RescueWait:   "rescue wait",
	Rescuing:     "rescuing",
	UnrescueFail: "unrescue failed",
	Unrescuing:   "unrescuing",
	Servicing:    "servicing",
	ServiceWait:  "service wait",
	ServiceFail:  "service failed",
	ServiceHold:  "service hold",
})

// Parse returns the state of a word. "none" and the empty text, which gophercloud
// has for null, are NoState. Any other word is an [*UnknownError]; [ParseReported]
// keeps it. Words are compared as they are: case and spaces count.
func Parse(word string) (State, error) { return parse[State](stateWords, word) }

// AllStates ranges over every state that any series has, and over the words of
// the Nova driver's list that are in no table (DeployDone, Deleted, Rebuild), in
// Ironic's order. NoState is left out.
func AllStates() iter.Seq[State] { return all[State](stateWords) }

// String returns Ironic's word for the state, or a form like "State(99)" for a
// number that is none.
func (s State) String() string { return stateWords.word(uint8(s), "State") }

// GoString returns the word in quotes, which is how %#v, and with it testify and
// rapid, print a State.
func (s State) GoString() string { return strconv.Quote(s.String()) }

// MarshalText returns String. A number that is no state is an [*UnknownError].
func (s State) MarshalText() ([]byte, error) { return marshalText(stateWords, uint8(s), s) }

// UnmarshalText is [Parse]; s keeps its value on error.
func (s *State) UnmarshalText(text []byte) error { return setWord(s, stateWords, string(text)) }

// MarshalJSON returns the word as a JSON string, NoState as null.
func (s State) MarshalJSON() ([]byte, error) { return marshalJSON(stateWords, uint8(s), s) }

// UnmarshalJSON takes the output of MarshalJSON, and "none", which a map has for
// a key; s keeps its value on error.
func (s *State) UnmarshalJSON(data []byte) error { return unmarshalJSON(s, stateWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoState.
func (s State) Value() (driver.Value, error) { return sqlValue(stateWords, uint8(s), s) }

// Scan implements [database/sql.Scanner]: it takes the output of Value, as a string
// or as bytes, and "none"; s keeps its value on error.
func (s *State) Scan(src any) error { return scan(s, stateWords, src) }
