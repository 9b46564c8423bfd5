// SPDX-License-Identifier: Apache-2.0

package states

import (
	"database/sql/driver"
	"iter"
	"strconv"
)

// Event moves a node from one state to another: a request of the API that was
// accepted, or a report of the conductor about its own work.
// The zero value is [NoEvent].
//
// As with [State], the numbers may change between releases; the words do not.
type Event uint8

// NoEvent is the absence of an event: null in JSON and SQL, "none" as text.
const NoEvent Event = 0

// Requests: events that a client of the API requests. [Verbs] has the words of these
// requests. The conductor fires two of the events too: clean out of Deleting, and
// manage at the end of manual cleaning.
const (
	// EventManage ("manage"): A client requests a manageable node: out of `enroll`
	// this starts the verification, and out of `available` and the failed states it
	// leads to `manageable` at once. The conductor fires it too, at the end of a
	// manual cleaning. Since Kilo.
	EventManage Event = NoEvent + 1 + iota
	// EventProvide ("provide"): A client makes a manageable node available, after
	// automated cleaning. Since Kilo.
	EventProvide
	// EventDeploy ("deploy", requested as "active"): A client deploys a node, or
	// retries a failed deployment. The API's word is `active`; its alias `deploy`
	// exists since Xena, the event since Kilo.
	EventDeploy
	// EventRebuild ("rebuild"): A client redeploys a node, with the same or another
	// image, and keeps its ephemeral partition if the request says so. Since Kilo.
	EventRebuild
	// EventDelete ("delete", requested as "deleted"): A client tears a node down,
	// which is then cleaned and available again. The API's word is `deleted`; its
	// alias `undeploy` exists since Xena, the event since Kilo.
	EventDelete
	// EventInspect ("inspect"): A client requests hardware inspection. Since Kilo.
	EventInspect
	// EventAdopt ("adopt"): A client requests that Ironic takes over a node that
	// already carries a workload. Since Newton.
	EventAdopt
	// EventClean ("clean"): A client runs clean steps on a manageable node, which is
	// then manageable again; the request exists since Mitaka. The conductor fires it
	// too, when a tear-down has ended; that event exists since Kilo.
	EventClean
	// EventRescue ("rescue"): A client boots a deployed node into the rescue ramdisk.
	// Since Queens.
	EventRescue
	// EventUnrescue ("unrescue"): A client returns a rescued node to its workload.
	// Since Queens.
	EventUnrescue
	// EventService ("service"): A client runs service steps on a deployed node. Since
	// 2023.2.
	EventService
	// EventAbort ("abort"): A client ends work in a wait or hold state. A step that must
	// not be interrupted is finished first. Since Liberty.
	EventAbort
	// EventUnhold ("unhold"): A client resumes work that a hold step has stopped.
	// Since 2023.2.
	EventUnhold
)

// Reports: events that only the conductor fires.
const (
	// EventDone ("done"): The conductor reports that the work of the state has
	// succeeded. Since Kilo.
	EventDone Event = EventUnhold + 1 + iota
	// EventFail ("fail"): The conductor reports that the work of the state failed, or
	// that a call did not come in time. Since Kilo.
	EventFail
	// EventWait ("wait"): The conductor reports that the work continues elsewhere, and
	// waits for a call. Since Kilo.
	EventWait
	// EventResume ("resume"): The call for which the conductor waited has arrived, and
	// the conductor continues the work. Since Kilo.
	EventResume
	// EventHold ("hold"): The conductor reports that a hold step has stopped the work.
	// Since 2023.2.
	EventHold
	// EventError ("error"): The conductor reports that a tear-down failed. It was in
	// the machine until Rocky; `fail` replaced it.
	EventError
)

var eventWords = newVocabulary("event", []string{
	NoEvent:       "none",
	EventManage:   "manage",
	EventProvide:  "provide",
	EventDeploy:   "deploy",
	EventRebuild:  "rebuild",
	EventDelete:   "delete",
	EventInspect:  "inspect",
	EventAdopt:    "adopt",
	EventClean:    "clean",
	EventRescue:   "rescue",
	EventUnrescue: "unrescue",
	EventService:  "service",
	EventAbort:    "abort",
	EventUnhold:   "unhold",
	EventDone:     "done",
	EventFail:     "fail",
	EventWait:     "wait",
	EventResume:   "resume",
	EventHold:     "hold",
	EventError:    "error",
})

// ParseEvent returns the event of a word. "none" and the empty text are NoEvent.
// Any other word is an [*UnknownError]. ParseEvent accepts the words of the tables;
// [ParseVerb] accepts the API's words.
func ParseEvent(word string) (Event, error) { return parse[Event](eventWords, word) }

// AllEvents ranges over every event that any series has: first those that clients
// request, then those that only the conductor fires. NoEvent is left out.
func AllEvents() iter.Seq[Event] { return all[Event](eventWords) }

// String returns Ironic's word for the event, or a form like "Event(99)" for a
// number that is none.
func (e Event) String() string { return eventWords.word(uint8(e), "Event") }

// GoString returns the word in quotes, which is how %#v, and with it testify and
// rapid, print an Event.
func (e Event) GoString() string { return strconv.Quote(e.String()) }

// MarshalText returns String. A number that is no event is an [*UnknownError].
func (e Event) MarshalText() ([]byte, error) { return marshalText(eventWords, uint8(e), e) }

// UnmarshalText is [ParseEvent]; e keeps its value on error.
func (e *Event) UnmarshalText(text []byte) error { return setWord(e, eventWords, string(text)) }

// MarshalJSON returns the word as a JSON string, NoEvent as null.
func (e Event) MarshalJSON() ([]byte, error) { return marshalJSON(eventWords, uint8(e), e) }

// UnmarshalJSON accepts the output of MarshalJSON, and for NoEvent "none", its form as a map
// key, and ""; e keeps its value on error.
func (e *Event) UnmarshalJSON(data []byte) error { return unmarshalJSON(e, eventWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoEvent.
func (e Event) Value() (driver.Value, error) { return sqlValue(eventWords, uint8(e), e) }

// Scan implements [database/sql.Scanner]: it accepts the output of Value, as a string
// or as bytes, and "none" and ""; e keeps its value on error.
func (e *Event) Scan(src any) error { return scan(e, eventWords, src) }
