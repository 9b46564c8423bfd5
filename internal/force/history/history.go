// Package history checks a history of conductors that share a fleet: all versions of
// all nodes as etcd has stored them, the requests of all clients with their answers, the
// hardware operations in the conductors' logs, and the terms of the members.
//
// [History.Check] checks the following rules for the nodes, requests and operations of a
// history:
//
//   - transitions: each stored state follows from the previous one by a row of the table.
//   - claims: a reservation is one conductor's at a time. It passes to another only by
//     being dropped, and is dropped without an end of its work only when its holder's
//     lease has ended; the work has then failed, and last_error has the reason.
//   - requests: each request that was accepted has led to one transition, which no other
//     request has led to, and each transition that only a client can request has a request
//     that was not refused. A refused request has changed nothing.
//   - operations: each operation on the hardware was begun for a stored version of the
//     node, by the conductor that had reserved it in that version; at most once for each
//     piece of work; not after another conductor had reserved the node; and not while
//     another conductor was at work, unless that one was stopped or dead. Work that has
//     succeeded has had all its operations.
//   - reads: the answers about one node are linearizable with the versions that were
//     stored, and the writes and reads of a value in it with each other, by porcupine. A
//     read thus never shows a version that another had replaced before the read began.
//   - rest: in the end no node is reserved, has work, or has a target power state.
//
// The times are of one machine. A version was stored after the time that its conductor
// has written into it, and before the harness has seen it.
package history

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// History is the record of a run. The order of its parts does not matter, except for the
// versions of a node.
type History struct {
	Table      *states.Table
	Work       Work
	Nodes      map[string][]Version // by UUID, in the order of their revisions
	Terms      map[string]Term      // by the member's ID
	Requests   []Request
	Operations []Operation
	Outages    []Outage
}

// Work has the operations of the work in each state. Those of cleaning are the operations
// of a manual cleaning, which ends in manageable.
type Work map[states.State][]string

// Version is a node as it was stored.
type Version struct {
	Revision        int64
	State, Target   states.State
	TargetPower     states.Power
	Claim           string // of the conductor that has reserved the node; empty: none
	LastError       string
	Value           string    // that clients write
	Moved           string    // provision_updated_at, which differs for each piece of work
	Updated, Stored time.Time // the store had it between these
}

// Term is the time for which a process was a member.
type Term struct {
	Conductor    string // its name
	Begun, Ended int64  // revisions; Ended is 0 for one that is a member still
}

// Outage is a time in which a process was stopped or dead.
type Outage struct {
	Conductor  string
	Begin, End time.Time
}

// Operation is an operation on a node's hardware.
type Operation struct {
	Conductor  string
	Node, Name string
	Claim      string // of the node when it was begun
	Revision   int64  // of the node when it was begun
	Begin, End time.Time
}

// Kind is the purpose of a request.
type Kind uint8

const (
	Provision Kind = iota // a provision state
	Write                 // the value
	Read                  // the node
	Other                 // something else, which only has to be answered
)

// Outcome is how a request was answered.
type Outcome uint8

const (
	Accepted Outcome = iota
	Refused          // nothing has happened
	Unknown          // it may have taken effect, or may still do so
)

// Request is a client's request to Conductor.
type Request struct {
	Client     int
	Conductor  string
	Node       string
	Kind       Kind
	Word       string // of Provision: the target that was asked for
	Value      string // of Write; of Read: the value that was shown
	Shown      Shown  // of Read
	Begin, End time.Time
	Outcome    Outcome
	Status     int // HTTP's; 0: none came
}

// Shown is the part of a read's answer that is checked.
type Shown struct {
	State    states.State
	Reserved bool
	Updated  time.Time
}

// Finding is a rule that a history breaks.
type Finding struct {
	Rule string
	Node string // its UUID; empty where it is about no node
	Text string
}

func (f Finding) String() string {
	if f.Node == "" {
		return fmt.Sprintf("%s: %s", f.Rule, f.Text)
	}
	return fmt.Sprintf("%s: node %s: %s", f.Rule, f.Node, f.Text)
}

// Check returns the violations of the rules.
func (h *History) Check() []Finding {
	c := &checker{History: h}
	for id, versions := range h.Nodes {
		c.stored(id, versions)
		c.rests(id, versions)
	}
	c.requests()
	c.operations()
	c.reads()
	return c.findings
}

// checker collects findings.
type checker struct {
	*History
	findings []Finding
}

func (c *checker) find(rule, node, format string, args ...any) {
	c.findings = append(c.findings, Finding{rule, node, fmt.Sprintf(format, args...)})
}

// clock is the precision of the times in records and logs.
const clock = 2 * time.Millisecond
