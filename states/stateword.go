// SPDX-License-Identifier: Apache-2.0

package states

import (
	"database/sql/driver"
	"iter"
	"strconv"
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

// Parse returns the state of a word. "none" and the empty text are NoState:
// gophercloud decodes null as the empty text. Any other word is an [*UnknownError];
// [ParseRaw] keeps it. The comparison is exact: case and spaces count.
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

// UnmarshalJSON accepts the output of MarshalJSON, and for NoState "none", its form as a map
// key, and ""; s keeps its value on error.
func (s *State) UnmarshalJSON(data []byte) error { return unmarshalJSON(s, stateWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoState.
func (s State) Value() (driver.Value, error) { return sqlValue(stateWords, uint8(s), s) }

// Scan implements [database/sql.Scanner]: it accepts the output of Value, as a string
// or as bytes, and "none" and ""; s keeps its value on error.
func (s *State) Scan(src any) error { return scan(s, stateWords, src) }
