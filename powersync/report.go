// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"fmt"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
	"github.com/ironstate/ironstate/states"
)

// kind is a kind of round.
type kind string

const (
	syncRound     kind = "sync"
	recoveryRound kind = "recovery"
)

// Report is the result of a round.
type Report struct {
	Recovery bool          `json:"recovery"` // a round of Recover, not of Sync
	Start    time.Time     `json:"start"`
	Took     time.Duration `json:"took_ns"`
	Overran  bool          `json:"overran"` // took longer than its interval

	Seen    int `json:"seen"`    // all nodes of the round
	Skipped int `json:"skipped"` // nodes that were skipped
	// Failed is the number of nodes with the outcomes force_failed, read_failed,
	// into_maintenance and store_failed.
	Failed int             `json:"failed"`
	Nodes  map[Outcome]int `json:"nodes"` // by outcome, without those that no node had
}

// String returns the report in one line, such as
//
//	sync round: 200 nodes in 1.2s: 3 skipped_enroll, 196 equal, 1 forced
func (r Report) String() string {
	var parts []string
	for _, o := range outcomes {
		if n := r.Nodes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	line := fmt.Sprintf("%s round: %d nodes in %v", r.kind(), r.Seen, r.Took.Round(time.Millisecond))
	if r.Overran {
		line += " (longer than its interval)"
	}
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line
}

func (r Report) kind() kind {
	if r.Recovery {
		return recoveryRound
	}
	return syncRound
}

// Event is the outcome of one node, or of one power request, and its details.
type Event struct {
	Time     time.Time
	ID       string
	Outcome  Outcome
	Recorded states.Power // recorded before; NoPower if there was none or the record could not be loaded
	Read     states.Power // read from the hardware; NoPower if it was not read or the read failed
	Asked    states.Power // requested from the hardware; NoPower if nothing was requested
	Attempts int          // attempts that failed in a row, this one included
	Err      error        // the cause of a failure

	// LastError is the last error that was stored with this event. ClearedError
	// is the last error that it replaced or cleared, which is stored nowhere else. A
	// caller that keeps a history of its nodes' errors, as Ironic does
	// (node_history), stores both. Each is empty if there is none.
	LastError    string
	ClearedError string
}

// setLastError sets a record's last error and stores both texts in the event.
func (e *Event) setLastError(r *Record, text string) {
	text = errtext.Clean(text)
	if r.LastError != text {
		e.LastError, e.ClearedError = text, r.LastError
	}
	r.LastError = text
}

// notAsked returns the event of hardware that was not set after all.
func (e Event) notAsked(o Outcome, err error) Event {
	e.Asked = states.NoPower
	return e.as(o, err)
}

// as returns the event with an outcome and the cause of a failure, if any.
func (e Event) as(o Outcome, err error) Event {
	e.Outcome, e.Err = o, err
	return e
}
