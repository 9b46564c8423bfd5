package graph

import "github.com/ironstate/ironstate/states"

// A cause is what makes a transition happen.
type cause uint8

const (
	conductor cause = iota // the conductor alone
	request                // a request of the API
	both                   // the conductor, though the API takes a request too
)

var causeWords = []string{conductor: "conductor", request: "request", both: "both"}

func (c cause) String() string { return wordOf(c, "cause", causeWords) }

// causes holds the causes in the order in which an edge's label lists them.
var causes = [...]cause{request, both, conductor}

// note returns what a label says of the cause.
func (c cause) note() string {
	switch c {
	case request:
		return "(via API)"
	case both:
		return "(also via API)"
	default:
		return ""
	}
}

// causeOf returns what makes a row of a table happen. A request that the API
// takes while the conductor is at work is one that the conductor is about to
// fire itself.
func causeOf(t *states.Table, row states.Transition) cause {
	verb := row.Event.Verb()
	if verb == "" {
		return conductor
	}
	event, err := t.Request(row.From, verb, t.Series().MaxAPIVersion())
	switch {
	case err != nil || event != row.Event:
		return conductor
	case t.Unstable().Minus(t.Waiting()).Has(row.From):
		return both
	default:
		return request
	}
}
