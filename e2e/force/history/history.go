// SPDX-License-Identifier: Apache-2.0

// Package history checks a history of conductors that share a fleet: all versions of
// all nodes as etcd has stored them, the requests of all clients with their answers, the
// hardware operations in the conductors' logs, and the memberships of the conductors.
//
// [History.Check] checks the following rules for the nodes, requests and operations of a
// history:
//
//   - writes: each version follows from the one before as package promises of the conductor
//     demands, also of the conductor's simulation and of its search of all schedules.
//   - claims: only a member reserves a node, and work is ended for a dead process only if the
//     lease of the process has ended.
//   - requests: each accepted request has led to one transition, to which no other request
//     has led. Each transition that only a client can request has a request that was not
//     refused. A refused request has changed nothing.
//   - operations: each operation on the hardware was begun for a stored version of the
//     node, by the conductor that had reserved the node in that version; at most once for
//     each piece of work, or each of its steps; not after the reservation was dropped,
//     unless the operation was in flight: its conductor was stopped after it had asked
//     for the operation; and not while another conductor was at work, unless the other
//     conductor was stopped or dead. Work that has succeeded has had all its operations.
//   - reads: the reads of a node are linearizable with its stored versions, and the writes
//     and reads of its value with each other, by porcupine. A read thus never shows a
//     version that was replaced before the read began.
//   - tokens: each token of an agent that a lookup has given out was stored, and was given out once. While a node waits
//     for the agent of one boot, it has one token.
//   - machines: a node with an agent becomes available only after a cleaning that has erased
//     its disk, and active only after a deployment that has written its image. In the end
//     the disk of each active node has that image. No piece of work begins a step of the
//     agent twice. No work of an agent succeeds where none ever runs.
//   - idle: in the end no node waits for anything, see promises.Rules.Waits.
//
// All times are from one machine's clock. A version was stored after the time that its
// conductor wrote into the version, and before the recorder received the version.
package history

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// History is the record of a run. The order of its parts does not matter, except for the
// versions of a node.
type History struct {
	Table *states.Table
	// Work has the operations of each work of a node without a [Machine]. Of the cleanings it has the manual one, which
	// ends in manageable.
	Work        map[states.Work][]string
	Nodes       map[string][]Version  // by UUID, in the order of their revisions
	Memberships map[string]Membership // by the member's ID
	Requests    []Request
	Operations  []Operation
	Outages     []Outage
	Machines    map[string]Machine  // by the UUID of their nodes
	Given       map[string][]string // the tokens that lookups have given out, by the UUID of their nodes
}

// Version is a node as it was stored.
type Version struct {
	Revision        int64
	State, Target   states.State
	TargetPower     states.Power
	Claim           string // the reservation: the ID of a member; empty: none
	Step            string // identifies the step that runs
	Token           string // of the node's agent
	LastError       string
	Value           string    // written by clients
	Image           string    // identifies the image of the instance
	Moved           string    // provision_updated_at, which differs for each piece of work
	Updated, Stored time.Time // the version was stored between these times
	Broken          []string  // the promises that its write breaks, see promises.Rules.Write
	Waits           string    // why the node is not idle, see promises.Rules.Waits
}

// Membership is the time for which a process was a member.
type Membership struct {
	Conductor    string // its name
	Begun, Ended int64  // revisions; Ended is 0 for a process that is still a member
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
	Claim      string    // of the node when it was begun
	Revision   int64     // of the node when it was begun
	Asked      time.Time // immediately before it was permitted
	Begin, End time.Time
}

// Machine records the steps that the agents of a machine have executed, and its disk.
type Machine struct {
	Steps    []Step
	Disk     string // the image on the disk in the end
	Deserted bool   // the machine never boots an agent
}

// Step is a step that an agent has begun.
type Step struct {
	Name string
	At   time.Time
	Disk string // the image on the disk; empty for an erased disk
}

// Kind is the purpose of a request.
type Kind uint8

const (
	Provision Kind = iota // a provision state
	Write                 // the value
	Read                  // the node
	Other                 // any other request, for which only the outcome is recorded
)

// Outcome is the result of a request.
type Outcome uint8

const (
	Accepted Outcome = iota
	Refused          // the request has had no effect
	Unknown          // the request may have taken effect, or may still do so
)

// Request is a client's request to Conductor.
type Request struct {
	Client     int
	Conductor  string
	Node       string
	Kind       Kind
	Word       string // of Provision: the requested target
	Value      string // of Write: the written value; of Read: the shown value
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

// Finding is a violation of a rule.
type Finding struct {
	Rule string
	Node string // the node's UUID; empty if the finding is about no node
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
		if n := len(versions); n > 0 && versions[n-1].Waits != "" {
			c.find("idle", id, "%s", versions[n-1].Waits)
		}
	}
	c.requests()
	c.operations()
	c.machines()
	c.tokens()
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
