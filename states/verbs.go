// SPDX-License-Identifier: Apache-2.0

package states

// A verb is a word that the API accepts as the target of a request for a
// provision state.
type verb struct {
	word    string
	event   Event
	since   Series     // the first series whose API takes the word
	minimum APIVersion // lower versions refuse the word, whatever the node's state
}

// verbRows holds every verb; of two words for one event, the older comes first.
// The word undeploy has no minimum version while deploy has one. This is an oversight
// of upstream that clients see: the minimum is on the word "delete", see minDelete.
//
// Source: VERBS in ironic/common/states.py, and the minimum versions in
// ironic/api/controllers/v1/utils.py.
var verbRows = [...]verb{
	{"manage", EventManage, Kilo, 4},
	{"provide", EventProvide, Kilo, 4},
	{"active", EventDeploy, Kilo, NoAPIVersion},
	{"deploy", EventDeploy, Xena, 73},
	{"rebuild", EventRebuild, Kilo, NoAPIVersion},
	{"deleted", EventDelete, Kilo, NoAPIVersion},
	{"undeploy", EventDelete, Xena, NoAPIVersion},
	{"inspect", EventInspect, Kilo, 6},
	{"adopt", EventAdopt, Newton, 17},
	{"clean", EventClean, Mitaka, 15},
	{"rescue", EventRescue, Queens, 38},
	{"unrescue", EventUnrescue, Queens, 38},
	{"service", EventService, Bobcat, NoAPIVersion},
	{"abort", EventAbort, Liberty, 13},
	{"unhold", EventUnhold, Bobcat, NoAPIVersion},
}

// verbWords numbers the words of verbRows from 1; 0 stands for no verb.
var verbWords = newVocabulary("verb", func() []string {
	words := make([]string, 1+len(verbRows))
	for i, row := range verbRows {
		words[1+i] = row.word
	}
	return words
}())

// minDelete is the version below which the API refuses the word "delete", since
// Xena. From that version on the API refuses the word because it is an event and no
// verb.
const minDelete APIVersion = 73

// findVerb returns the row of a word, nil if no series has it.
func findVerb(word string) *verb {
	n, _ := verbWords.find(word)
	if n == 0 {
		return nil
	}
	return &verbRows[n-1]
}

// ParseVerb returns the event of a word of the API: "active" and its alias "deploy"
// are EventDeploy, "deleted" and its alias "undeploy" are EventDelete, and every other
// word is the event of the same name. A word that the API of no series accepts is an
// [*UnknownError], even if it is an event ("done", "delete"). [Table.Request] returns
// the answer of one series' API.
func ParseVerb(word string) (Event, error) {
	verb := findVerb(word)
	if verb == nil {
		return NoEvent, verbWords.unknown(word)
	}
	return verb.event, nil
}

// Verb returns the API's word for the event. Of two words it is the word that every
// series and API version accepts: "active" for EventDeploy, "deleted" for EventDelete.
// It is empty for events that only the conductor fires. [Verbs] has the aliases.
func (e Event) Verb() string {
	for i := range verbRows {
		if verbRows[i].event == e {
			return verbRows[i].word
		}
	}
	return ""
}

// Verbs returns the API's words with their events, as in the newest series: upstream's
// VERBS, aliases included. The word "rebuild" is not among them, although the API
// accepts it; [ParseVerb] and [Table.Request] accept it too. Verbs returns a new map each
// time.
func Verbs() map[string]Event { return Latest().Table().verbs() }

// verbs returns the VERBS of the series' source.
func (t *Table) verbs() map[string]Event {
	verbs := make(map[string]Event)
	for _, row := range verbRows {
		if row.since <= t.Series() && row.event != EventRebuild {
			verbs[row.word] = row.event
		}
	}
	return verbs
}
