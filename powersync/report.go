package powersync

import (
	"fmt"
	"slices"
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

// Report says how a round went.
type Report struct {
	Recovery bool          `json:"recovery"` // a round of Recover, not of Sync
	Start    time.Time     `json:"start"`
	Took     time.Duration `json:"took_ns"`
	Overran  bool          `json:"overran"` // took longer than its interval

	Seen    int `json:"seen"`    // all nodes of the round
	Skipped int `json:"skipped"` // those that were left alone
	// Failed is for how many nodes something went wrong: force_failed, read_failed,
	// into_maintenance and store_failed.
	Failed int             `json:"failed"`
	Nodes  map[Outcome]int `json:"nodes"` // by outcome, without those that no node had
}

// String returns the report in one line, as in
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
	Recorded states.Power // recorded before; NoPower where none was, or it could not be loaded
	Read     states.Power // read from the hardware; NoPower where it was not asked or did not say
	Asked    states.Power // asked of the hardware; NoPower where nothing was
	Attempts int          // that failed in a row, this one included
	Err      error        // why, where something went wrong

	// LastError is the last error that was stored with this event. ClearedError
	// is the last error that it replaced or cleared: nothing else has it now. A
	// caller that keeps a history of its nodes' errors, as Ironic does
	// (node_history), stores both. Empty where there is none.
	LastError    string
	ClearedError string
}

// setLastError sets a record's last error and has the event tell both texts.
func (e *Event) setLastError(r *Record, text string) {
	text = errtext.Clean(text)
	if r.LastError != text {
		e.LastError, e.ClearedError = text, r.LastError
	}
	r.LastError = text
}

// quiet reports whether there is nothing to tell.
func (e *Event) quiet() bool {
	return (e.Outcome == Equal || slices.Contains(skips, e.Outcome)) && e.ClearedError == ""
}

// as returns the event with an outcome and what went wrong, if anything did.
func (e Event) as(o Outcome, err error) Event {
	e.Outcome, e.Err = o, err
	return e
}
