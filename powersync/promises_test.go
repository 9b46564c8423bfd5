// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// promises checks what the Syncers of one Store promise. The explorer of schedules reports each call to it.
//
//  1. At most one Syncer asks a machine for a power state at a time, and only while the node's record has its
//     reservation and is not in enroll. A request whose call was given up may arrive later.
//  2. No late write changes a record: each write replaces the version that its writer has read, and nobody changes a
//     record that another one has reserved.
//  3. A machine is asked at most once in a round, and at most once by a power request.
//  4. After the end of its context a round or a power request asks no machine, and writes nothing but the end of its
//     own reservation.
//  5. No node is forgotten: a round that reports no error has an outcome for each node of the store, and after a
//     round without faults no node is reserved or has a target power state, and each record that rounds do not skip
//     has the power state of its machine.
//  6. The answer to a power request is true: after a success the record has had the requested power state, after a
//     failure its cause, or the error says that this is not stored yet; after a refusal the machine was not asked.
type promises struct {
	mu       sync.Mutex // two Syncers may go on at once when time passes, and the workers of one always
	failf    func(format string, args ...any)
	versions map[string]map[int64]powersync.Record
	asks     map[string]*asked // who asks a node's machine
	tasks    []*task
}

// asked is a request to a machine that has not returned. late reports whether its caller may have given up.
type asked struct {
	by   string
	late func() bool
}

func (a *asked) String() string { return a.by }

// task is a round or a power request of a Syncer, and the checked part of its history.
type task struct {
	process, name string       // the process, and the name of its Syncer
	request       states.Power // of a power request, NoPower for a round
	asked         map[string]int
	over          bool // its context has ended

	accepted, reached, caused bool // of a power request: it was accepted, and a record has had its result
}

func (t *task) String() string {
	return fmt.Sprint(t.process, t.asked, t.over, t.accepted, t.reached, t.caused)
}

// begins checks a call when it begins.
func (p *promises) begins(t *task, operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.over {
		p.failf("%s: %s after the end of the context", t.process, operation)
	}
}

// writes checks a write when it begins.
func (p *promises) writes(t *task, r powersync.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.versions[r.ID][r.Revision]
	released := before // a release may also change the power state and the last error
	released.Reservation, released.TargetPower, released.Power, released.LastError = "", states.NoPower, r.Power, r.LastError
	if t.over && (before.Reservation != t.name || r != released) {
		p.failf("%s: writes %s after the end of the context, which is not the end of its reservation", t.process, r.ID)
	}
}

// stored checks a write that is done.
func (p *promises) stored(t *task, before, now powersync.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before.Revision != now.Revision {
		p.failf("%s: %s: version %d was replaced, and version %d was read", t.process, now.ID, before.Revision, now.Revision)
	}
	if before.Reservation != "" && before.Reservation != t.name {
		p.failf("%s: writes %s, which is reserved by %s", t.process, now.ID, before.Reservation)
	}
	if t.request != states.NoPower && now.Reservation == "" {
		t.reached = t.reached || now.Power == t.request.Target()
		t.caused = t.caused || now.LastError != ""
	}
}

// asking checks a request for a power state when it is sent.
func (p *promises) asking(t *task, id string, late func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.asked[id]++; t.asked[id] > 1 {
		p.failf("%s: the machine of %s is asked again", t.process, id)
	}
	if other := p.asks[id]; other != nil && !other.late() {
		p.failf("%s: asks the machine of %s while %s does", t.process, id, other)
	}
	p.asks[id] = &asked{t.process, late}
}

// returns notes that a request of a process has returned to its Syncer.
func (p *promises) returns(process, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asks[id] != nil && p.asks[id].by == process {
		delete(p.asks, id)
	}
}

// arrives checks a request for a power state when it arrives at the machine and is waited for.
func (p *promises) arrives(t *task, r powersync.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Reservation != t.name || r.ProvisionState == states.Enroll {
		p.failf("%s: the machine of %s is asked, which is in %v and reserved by %q", t.process, r.ID, r.ProvisionState, r.Reservation)
	}
}

// answered checks the answer of a power request.
func (p *promises) answered(t *task, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil && !(t.accepted && t.reached):
		p.failf("%s: a power request has succeeded, and the record has not had the power state", t.process)
	case err != nil && t.accepted && !t.caused && !errors.Is(err, powersync.ErrNotSaved):
		p.failf("%s: a power request has failed, and the record has not had the cause: %v", t.process, err)
	case err != nil && !t.accepted && len(t.asked) > 0:
		p.failf("%s: a power request was refused, and the machine was asked: %v", t.process, err)
	}
}

// reported checks the report of a round of a store that has had a number of nodes all the time.
func (p *promises) reported(t *task, r powersync.Report, nodes int, err error) {
	if err == nil && r.Seen < nodes {
		p.failf("%s: a round of %d nodes reports %d: %v", t.process, nodes, r.Seen, r)
	}
}

// settled checks a record after a round without faults. power is the power state of the machine.
func (p *promises) settled(r powersync.Record, power states.Power) {
	switch {
	case isGammas(r):
	case r.Reservation != "" || r.TargetPower != states.NoPower:
		p.failf("%s is forgotten: it is reserved by %q, on its way to %q", r.ID, r.Reservation, cmp.Or(r.TargetPower.String(), "no state"))
	case powersync.SkipSync(r) == "" && r.Power != power:
		p.failf("%s is forgotten: %q is recorded, and the machine is in %q", r.ID, r.Power, power)
	}
}
