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

// Requests: events that a client of the API asks for. [Verbs] has the words
// that it asks with. The conductor fires some of them too: clean out of
// Deleting, manage at the end of manual cleaning.
const (
	// EventManage ("manage") asks for a manageable node: out of Enroll by way of
	// verification, out of Available and the failed states at once. Ends manual
	// cleaning. Since Kilo.
	EventManage Event = NoEvent + 1 + iota
	// EventProvide ("provide") makes a manageable node available, by way of
	// automated cleaning. Since Kilo.
	EventProvide
	// EventDeploy ("deploy", asked for as "active") deploys a node. Since Kilo.
	EventDeploy
	// EventRebuild ("rebuild") deploys a node anew, keeping its ephemeral
	// partition where one is. Since Kilo.
	EventRebuild
	// EventDelete ("delete", asked for as "deleted") tears a deployed node down.
	// Since Kilo.
	EventDelete
	// EventInspect ("inspect") starts inspection. Since Kilo.
	EventInspect
	// EventAdopt ("adopt") takes over a node that was deployed by other means.
	// Since Newton.
	EventAdopt
	// EventClean ("clean") starts cleaning: asked for by a person since Mitaka,
	// fired by the conductor once a tear-down is through since Kilo.
	EventClean
	// EventRescue ("rescue") boots a deployed node into the rescue ramdisk.
	// Since Queens.
	EventRescue
	// EventUnrescue ("unrescue") brings a rescued node back to its workload.
	// Since Queens.
	EventUnrescue
	// EventService ("service") runs service steps on a deployed node. Since
	// 2023.2.
	EventService
	// EventAbort ("abort") ends work that waits or is held. Since Liberty.
	EventAbort
	// EventUnhold ("unhold") resumes work that a hold step stopped. Since 2023.2.
	EventUnhold
)

// Reports: events that only the conductor fires.
const (
	// EventDone ("done"): the work of the state is through. Since Kilo.
	EventDone Event = EventUnhold + 1 + iota
	// EventFail ("fail"): the work of the state failed, or the wait for a call
	// timed out. Since Kilo.
	EventFail
	// EventWait ("wait"): the work goes on elsewhere, the conductor waits. Since
	// Kilo.
	EventWait
	// EventResume ("resume"): the call that was waited for came. Since Kilo.
	EventResume
	// EventHold ("hold"): a hold step stops the work. Since 2023.2.
	EventHold
	// EventError ("error"): tearing down failed. Until Rocky; EventFail since.
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
// Any other word is an [*UnknownError]. It takes the
// machine's words; [ParseVerb] takes the API's.
func ParseEvent(word string) (Event, error) { return parse[Event](eventWords, word) }

// AllEvents ranges over every event that any series has: first those that the
// API's clients ask for, then the conductor's own. NoEvent is left out.
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

// UnmarshalJSON takes the output of MarshalJSON, and "none", which a map has for
// a key; e keeps its value on error.
func (e *Event) UnmarshalJSON(data []byte) error { return unmarshalJSON(e, eventWords, data) }

// Value implements [driver.Valuer]: the word, NULL for NoEvent.
func (e Event) Value() (driver.Value, error) { return sqlValue(eventWords, uint8(e), e) }

// Scan implements [database/sql.Scanner]: it takes the output of Value, as a string
// or as bytes, and "none"; e keeps its value on error.
func (e *Event) Scan(src any) error { return scan(e, eventWords, src) }
