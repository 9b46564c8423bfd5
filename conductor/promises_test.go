// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"slices"
	"strings"
	"sync"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/states"
)

// promiseChecks checks the promises of the conductors of one store. The simulation and the search of schedules report
// each write, each operation and each answer to it. SPEC.md has the argument for each promise. Package promises has the
// checks of single writes.
//
//  1. At most one conductor operates a machine at a time, from the first byte of an operation to the last, and only
//     while the node's record has its claim. The one request that a conductor was sending when it lost its membership
//     may arrive later.
//  2. No step is begun twice in the same work.
//  3. An accepted request is done, or the record has its failure.
//  4. No node waits for nobody: where no call is left, no node is reserved, is in a state with work, or has a target
//     power state.
//  5. No node enters a trusted state (active, available, manageable) before its work has been done.
//  6. No late write changes a record: each write replaces the version that its writer has read, and nobody changes
//     the state of a node, or takes its claim, while another live conductor has the claim.
//  7. The token of an agent ends with the agent's work.
//  8. What a client was told is what the record says: an accepted request has moved the node.
//  9. The index of a conductor has the nodes of the store, when its watch has reported all changes.
//  10. OnTransition is called for each transition that a conductor knows to have stored: once, in the order of the
//     transitions of its node, and with one call for the node at a time.
//
// Besides, each change of a provision state is a row of the table, and the record keeps its last transitions.
type promiseChecks struct {
	rules  promises.Rules
	failf  func(format string, args ...any)
	logf   func(format string, args ...any)
	alive  func(claim string) bool
	undone func(n *promises.Version, to states.State) string // the step that work should have done before a state; "" for none
	begins func(id string)                                   // is called when new work begins; may be nil

	mu    sync.Mutex
	busy  map[string]string          // who operates a node's machine, by the node's UUID
	begun map[string]map[string]bool // the operations of the work at hand, by the node's UUID: whether they have succeeded
	nodes map[promisedVersion]*promises.Version
	moves map[string]map[states.Event]int // how often an event has moved a node
	order map[string][]*storedMove        // the transitions of each node
}

// storedMove is a transition that a conductor has stored.
type storedMove struct {
	conductor.TransitionRecord
	by       string
	revision int64
	answered bool // the conductor knows it
	reported bool
}

type promisedVersion struct {
	id       string
	revision int64
}

func newPromiseChecks(failf, logf func(format string, args ...any), alive func(claim string) bool) *promiseChecks {
	p := &promiseChecks{
		rules: promises.Rules{Table: states.Latest().Table(), MaxTransitions: simTransitions},
		failf: failf, logf: logf, alive: alive, busy: map[string]string{}, begun: map[string]map[string]bool{},
		nodes: map[promisedVersion]*promises.Version{}, moves: map[string]map[states.Event]int{}, order: map[string][]*storedMove{},
	}
	p.undone = func(n *promises.Version, to states.State) string {
		return p.missing(n.UUID, fakeWork[[2]states.State{n.State, to}])
	}
	return p
}

// fakeWork has the operations that fake-hardware does in the work between two states.
var fakeWork = map[[2]states.State][]string{
	{states.Verifying, states.Manageable}:  {"verify"},
	{states.Inspecting, states.Manageable}: {"inspect.inspect_hardware"},
	{states.Cleaning, states.Available}:    {"vendor.log_passthrough"},
	{states.Cleaning, states.Manageable}:   {"bios.cache_bios_settings", "bios.factory_reset"},
	{states.Deploying, states.Active}:      {"deploy.deploy"},
	{states.Servicing, states.Active}:      {"bios.cache_bios_settings", "bios.factory_reset"},
	{states.Unrescuing, states.Active}:     {"rescue.unrescue"},
	{states.Adopting, states.Active}:       {"deploy.take_over"},
}

// missing returns the first of some operations that has not succeeded in the work at hand.
func (p *promiseChecks) missing(id string, operations []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, operation := range operations {
		if !p.begun[id][operation] {
			return operation
		}
	}
	return ""
}

// stored checks the write of a node's record by a conductor. The written record has the revision that its writer has
// read; revision is the new one.
func (p *promiseChecks) stored(by string, before, written conductor.Record, revision int64) {
	if written.Revision != before.Revision {
		p.failf("node %s: %s has replaced version %d, and has read version %d", before.ID, by, before.Revision, written.Revision)
	}
	written.Revision = revision
	old, now := p.decoded(before), p.decoded(written)
	p.forget(before)
	if old.State != now.State {
		p.logf("%s: node %s %s -> %s (reserved by %q)", by, now.Name, old.State, now.State, now.Reservation)
		if table := p.rules.Table; table.Phase(old.State) != states.PhaseWaiting && table.Stuck().Has(now.State) {
			p.begin(now.UUID)
		}
	}
	if old.Reservation != "" { // a client may end work that no conductor has begun
		if step := p.undone(old, now.State); step != "" {
			p.failf("node %s: %q was stored after %q by %s, and %s was not done", now.Name, now.State, old.State, by, step)
		}
	}
	added, broken := p.rules.Write(old, now, p.alive(old.Claim))
	for _, problem := range broken {
		p.failf("node %s: a write by %s: %s", now.Name, by, problem)
	}
	p.count(by, now.UUID, revision, added)
	p.reserved(by, old, now)
}

// reserved checks what a write does to a reservation.
func (p *promiseChecks) reserved(by string, old, now *promises.Version) {
	recorded := now.CleanSteps.Begun > old.CleanSteps.Begun || now.DeploySteps.Begun > old.DeploySteps.Begun
	if recorded && now.Reservation != by {
		p.failf("node %s: %s has recorded a step while the node is reserved by %q", now.Name, by, now.Reservation)
	}
	if old.Claim == "" || old.Reservation == by || !p.alive(old.Claim) {
		return
	}
	if now.Claim == "" {
		p.failf("node %s: %s dropped the reservation of %s, which is alive", now.Name, by, old.Reservation)
	}
	if now.State != old.State {
		p.failf("node %s: %s stored %q while %s works on the node", now.Name, by, now.State, old.Reservation)
	}
}

// begin forgets the operations of earlier work.
func (p *promiseChecks) begin(id string) {
	if p.begins != nil {
		p.begins(id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.begun, id)
}

// count counts the transitions of a write.
func (p *promiseChecks) count(by, id string, revision int64, added []conductor.TransitionRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moves[id] == nil {
		p.moves[id] = map[states.Event]int{}
	}
	for _, t := range added {
		p.moves[id][t.Event]++
		p.order[id] = append(p.order[id], &storedMove{TransitionRecord: t, by: by, revision: revision})
	}
}

// answered records that a conductor has the response to a write of a node.
func (p *promiseChecks) answered(id string, revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, move := range p.order[id] {
		move.answered = move.answered || move.revision == revision
	}
}

// reports returns the OnTransition of a process, which is slow.
func (p *promiseChecks) reports(by string, slow func(conductor.Transition)) func(conductor.Transition) {
	running, next := map[string]bool{}, map[string]int{} // by the node's UUID
	return func(t conductor.Transition) {
		id := t.Node.UUID
		p.mu.Lock()
		overlaps := running[id]
		running[id] = true
		i := slices.IndexFunc(p.order[id][next[id]:], func(m *storedMove) bool { return m.by == by && m.TransitionRecord == t.TransitionRecord })
		if next[id] += i + 1; i >= 0 {
			p.order[id][next[id]-1].reported = true
		}
		p.mu.Unlock()
		if overlaps {
			p.failf("node %s: two calls of OnTransition of %s overlap", t.Node.Name, by)
		}
		if i < 0 {
			p.failf("node %s: %s reports %v twice, too late, or without having stored it", t.Node.Name, by, t)
		}
		slow(t)
		p.mu.Lock()
		defer p.mu.Unlock()
		running[id] = false
	}
}

// unreported returns a transition of a node that a conductor knows to have stored and has not reported, nil for none.
func (p *promiseChecks) unreported(id string) *storedMove {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.order[id], func(m *storedMove) bool { return m.answered && !m.reported }); i >= 0 {
		return p.order[id][i]
	}
	return nil
}

// moved returns how often the requests with a word have moved a node.
func (p *promiseChecks) moved(id, word string) (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for event := range requestEvents()[word] {
		count += p.moves[id][event]
	}
	return count
}

// requestEvents returns the events of each word that a client may request.
var requestEvents = sync.OnceValue(func() map[string]map[states.Event]bool {
	table, version, all := states.Latest().Table(), states.Latest().MaxAPIVersion(), map[string]map[states.Event]bool{}
	for state := range table.States().All() {
		for word := range table.Requests(state, version) {
			event, err := table.Request(state, word, version)
			if all[word] == nil {
				all[word] = map[states.Event]bool{}
			}
			all[word][event] = err == nil
		}
	}
	return all
})

// told checks that a request which a client was told is accepted has moved its node. before is what moved returned
// before it. An abort is accepted without a transition while a step runs that cannot be aborted.
func (p *promiseChecks) told(id, word string, before int, err error) {
	if err == nil && word != "abort" && p.moved(id, word) == before {
		p.failf("node %s: a client was told that its request %q is accepted, and the record has no such transition", id, word)
	}
}

// decoded returns a stored record as a node.
func (p *promiseChecks) decoded(r conductor.Record) *promises.Version {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := promisedVersion{r.ID, r.Revision}
	n := p.nodes[version]
	if n == nil {
		var err error
		if n, err = promises.Decode(r.Value); err != nil {
			p.failf("the record of node %s cannot be read: %v", r.ID, err)
			n = &promises.Version{}
		}
		p.nodes[version] = n
	}
	return n
}

// forget forgets a record that was overwritten.
func (p *promiseChecks) forget(r conductor.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.nodes, promisedVersion{r.ID, r.Revision})
}

// deleted checks the deletion of a node's record by a conductor.
func (p *promiseChecks) deleted(by string, r conductor.Record) {
	if n := p.decoded(r); n.Claim != "" && n.Reservation != by && p.alive(n.Claim) {
		p.failf("node %s: %s deleted it while %s works on it", n.Name, by, n.Reservation)
	}
}

// operates checks an operation when a conductor sends it to a node's machine. The record is the node's now.
func (p *promiseChecks) operates(by string, r conductor.Record, operation string) {
	now := p.decoded(r)
	if now.Reservation != by || !p.alive(now.Claim) {
		p.failf("node %s: %s does %s, and the node is reserved by %q", now.Name, by, operation, now.Reservation)
	}
	p.mu.Lock()
	other, busy := p.busy[now.UUID]
	p.busy[now.UUID] = by
	p.mu.Unlock()
	if busy {
		p.failf("node %s: %s does %s while %s works on it", now.Name, by, operation, other)
	}
	p.starts(by, now.UUID, operation)
}

// starts checks that an operation which is a step is not begun again in the same work.
func (p *promiseChecks) starts(by, id, operation string) {
	p.mu.Lock()
	_, again := p.begun[id][operation]
	if p.begun[id] == nil {
		p.begun[id] = map[string]bool{}
	}
	p.begun[id][operation] = false
	p.mu.Unlock()
	if again && strings.Contains(operation, ".") {
		p.failf("node %s: %s begins %s again in the same work", id, by, operation)
	}
}

// ends records the end of an operation.
func (p *promiseChecks) ends(by, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[id] == by {
		delete(p.busy, id)
	}
}

// succeeds records that an operation was done, or goes on alone until a call-back.
func (p *promiseChecks) succeeds(id, operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, begun := p.begun[id][operation]; begun {
		p.begun[id][operation] = true
	}
}

// suspended records that a conductor was stopped or has lost its membership: its requests in flight may arrive later,
// and nobody waits for them.
func (p *promiseChecks) suspended(by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.busy {
		if other == by {
			delete(p.busy, id)
		}
	}
}

// indexed compares the index of a conductor with the nodes of the store, of which its watch has reported all changes.
func (p *promiseChecks) indexed(name string, c *conductor.Conductor, stored []conductor.Record) {
	revisions := map[string]int64{}
	for _, r := range stored {
		revisions[r.ID] = r.Revision
	}
	for _, n := range conductor.IndexOf(c).All() {
		if revision, has := revisions[n.UUID]; !has {
			p.failf("node %s: it was deleted, and stays in the index of %s", n.Name, name)
		} else if revision != n.Revision {
			p.failf("node %s: the index of %s has version %d, and the store %d", n.Name, name, n.Revision, revision)
		}
		delete(revisions, n.UUID)
	}
	for id := range revisions {
		p.failf("node %s: the index of %s lacks it", id, name)
	}
}

// unfinished returns what a node waits for although nothing is left that could happen to it, "" for nothing.
func (p *promiseChecks) unfinished(r conductor.Record) string { return p.rules.Waits(p.decoded(r)) }
