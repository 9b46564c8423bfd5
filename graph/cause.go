// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// A cause says who makes a transition happen.
type cause string

const (
	conductor cause = "conductor" // the conductor alone
	request   cause = "request"   // a request of the API
	both      cause = "both"      // the conductor, and the API takes a request for it too
)

// causes holds the causes in the order in which an edge's label lists them.
var causes = [...]cause{request, both, conductor}

// note returns the suffix of an edge's label that names the cause, such as "(via API)".
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

// causeOf returns the cause of a row of a table.
func causeOf(t *states.Table, row states.Transition) cause {
	switch {
	case t.IsRequest(row):
		return request
	case slices.Contains(requests(t, row.From), row.Event.Verb()):
		return both
	default:
		return conductor
	}
}

// requests returns the words that the API accepts in a state at the highest version of the table's series.
func requests(t *states.Table, from states.State) []string {
	return slices.Collect(t.Requests(from, t.Series().MaxAPIVersion()))
}
