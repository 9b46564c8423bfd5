// SPDX-License-Identifier: Apache-2.0

package states

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// The reasons for which the API refuses a request for a provision state; a
// [*RequestError] matches one of them.
var (
	// ErrNotAcceptable says that the API version is too old for the request, or that the
	// server does not speak it. The status is 406.
	ErrNotAcceptable = errors.New("API version not acceptable")
	// ErrUnknownTarget says that the series has no such word, neither as an action of its
	// API nor as an event. The status is 400, and Ironic's text is the same as for ErrNotAllowed.
	ErrUnknownTarget = errors.New("unknown target")
	// ErrNotAllowed says that the node's state has no such transition. The status is 400;
	// Ironic answers 409 instead while the node is reserved. The errors of package
	// machine match it too.
	ErrNotAllowed = errors.New("not allowed in the node's state")
	// ErrNotUnderstood says that the state has such a transition, but that only the
	// conductor fires its event. The status is 400.
	ErrNotUnderstood = errors.New("not an action of the API")
)

// RequestError says which request the API refuses, and why. It matches
// [ErrNotAcceptable], [ErrUnknownTarget], [ErrNotAllowed] or [ErrNotUnderstood].
type RequestError struct {
	Series  Series
	From    State
	Target  string // the word as it was given
	Version APIVersion
	// Minimum and Maximum are set if the error matches ErrNotAcceptable: the oldest
	// and the newest version that pass the failed check. Maximum is NoAPIVersion if
	// the table has no series.
	Minimum, Maximum APIVersion
	// Allowed has the words that the API accepts in this state at this version.
	Allowed []string

	reason error
}

// Error names the request and the [RequestError.Reason].
func (e *RequestError) Error() string {
	return fmt.Sprintf("request %s in state %q with API version %v: %s", quote(e.Target), e.From, e.Version, e.Reason())
}

// Reason says why the request is refused, and names the words or versions that would have been accepted. For an unknown
// word it names the word that was probably meant.
func (e *RequestError) Reason() string {
	switch e.reason {
	case ErrNotAcceptable:
		return fmt.Sprintf("%v; acceptable: %s", e.reason, e.acceptable())
	case ErrUnknownTarget:
		return fmt.Sprintf("%v; %s", e.reason, e.meant())
	}
	allowed := "nothing"
	if len(e.Allowed) > 0 {
		allowed = strings.Join(e.Allowed, ", ")
	}
	return fmt.Sprintf("%v; allowed: %s", e.reason, allowed)
}

func (e *RequestError) acceptable() string {
	if e.Maximum == NoAPIVersion {
		return "nothing"
	}
	return fmt.Sprintf("%v to %v", e.Minimum, e.Maximum)
}

// meant says what the client may have meant by an unknown word.
func (e *RequestError) meant() string {
	if later := findVerb(e.Target); later != nil {
		return fmt.Sprintf("known since series %v, and this is %v", later.since, e.Series)
	}
	known := e.Series.wordsOfAPI()
	if near := nearest(e.Target, append(slices.Clone(e.Allowed), known...)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known: " + strings.Join(known, ", ")
}

// Unwrap returns the reason.
func (e *RequestError) Unwrap() error { return e.reason }

// The HTTP statuses of refusals. The package does not import net/http for two numbers.
const (
	statusBadRequest    = 400
	statusNotAcceptable = 406
)

// HTTPStatus returns the status of Ironic's answer, 406 or 400.
func (e *RequestError) HTTPStatus() int {
	if e.reason == ErrNotAcceptable {
		return statusNotAcceptable
	}
	return statusBadRequest
}

// Request returns the answer of the series' API to a request for a provision state:
// PUT /v1/nodes/NODE/states/provision {"target": target} at version v, for a node in
// from. The answer is the event that the accepted request (status 202) fires, or a
// [*RequestError].
//
// Without a version (NoAPIVersion) the request is one of version 1.1, as in
// Ironic. The answer depends on the state machine alone: [Event.Requires] names the
// field that a request must carry, and package admission handles maintenance, reservations
// and other fields of the node. Without admission "manage" in Cleaning and "clean" in Deleting,
// which are the conductor's own events there (see [Table.IsRequest]), end running work: the node
// is reserved then, and Ironic answers 409.
//
// Source: ironic/api/controllers/v1/node.py and utils.py. Request makes their checks
// in their order, so that it returns the same status.
func (t *Table) Request(from State, target string, v APIVersion) (Event, error) {
	v = max(v, minVersion)
	event, minimum, reason := t.judge(from, target, v)
	if reason != nil {
		return NoEvent, &RequestError{
			Series:  t.Series(),
			From:    from,
			Target:  target,
			Version: v,
			Minimum: minimum,
			Maximum: t.Series().MaxAPIVersion(),
			Allowed: slices.Collect(t.Requests(from, v)),
			reason:  reason,
		}
	}
	return event, nil
}

// OldestAPI returns the oldest version of the series' API that accepts a request in a state; every later
// version of the series accepts it, too. It returns NoAPIVersion if no version does.
func (t *Table) OldestAPI(from State, target string) APIVersion {
	highest := t.Series().MaxAPIVersion()
	for v := minVersion; v <= highest; v++ {
		if _, _, reason := t.judge(from, target, v); reason == nil {
			return v
		}
	}
	return NoAPIVersion
}

// judge makes the API's checks in their order. With ErrNotAcceptable it also returns
// the oldest version that passes the failed check.
func (t *Table) judge(from State, target string, v APIVersion) (event Event, minimum APIVersion, reason error) {
	if v > t.Series().MaxAPIVersion() {
		return NoEvent, minVersion, ErrNotAcceptable
	}
	verb := findVerb(target)
	if verb != nil && t.Series() < verb.since {
		verb = nil
	}
	if minimum := t.wordMinimum(target, verb); v < minimum {
		return NoEvent, minimum, ErrNotAcceptable
	}

	if verb != nil {
		event = verb.event
	} else {
		n, _ := eventWords.find(target)
		event = Event(n)
	}
	if _, ok := t.Next(from, event); !ok {
		if verb == nil && !t.fires(event) {
			return NoEvent, 0, ErrUnknownTarget
		}
		return NoEvent, 0, ErrNotAllowed
	}

	if minimum := lateMinimum(from, event); v < minimum {
		return NoEvent, minimum, ErrNotAcceptable
	}
	if verb == nil {
		return NoEvent, 0, ErrNotUnderstood
	}
	return event, 0, nil
}

// fires reports whether a state of the series has a transition by the event.
func (t *Table) fires(event Event) bool {
	for from := range t.States().All() {
		if _, ok := t.Next(from, event); ok {
			return true
		}
	}
	return false
}

// wordMinimum returns the oldest version that passes the API's first check, which
// depends on the word alone. The verb is the word's, or nil if the word is no verb.
func (t *Table) wordMinimum(word string, verb *verb) APIVersion {
	switch {
	case verb != nil:
		return verb.minimum
	case word == EventDelete.String() && t.Series() >= Xena:
		return minDelete
	default:
		return NoAPIVersion
	}
}

// lateMinimum returns the oldest version that passes the API's second check, which
// follows the lookup of the transition.
func lateMinimum(from State, event Event) APIVersion {
	switch {
	case event == EventAbort && from == InspectWait:
		return minAbortInspect
	case event == EventAbort && from == DeployWait:
		return minAbortDeploy
	case event == EventUnhold:
		return minUnhold
	case event == EventService:
		return minService
	default:
		return NoAPIVersion
	}
}

// Requests ranges over the words that the series' API accepts in a state at a
// version, in the order of a node's life; of two words for one event, the word of
// [Event.Verb] comes first. The word "rebuild" is among them if the API accepts it,
// though it is not in [Verbs]. Without a version they are the words of 1.1.
func (t *Table) Requests(from State, v APIVersion) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range verbRows {
			if _, _, reason := t.judge(from, verbRows[i].word, v); reason == nil && !yield(verbRows[i].word) {
				return
			}
		}
	}
}
