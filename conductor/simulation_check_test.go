// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// stored checks a write of a node's record: the new state follows from the old one by a row of
// the table, no conductor takes the reservation of another live conductor, and no reservation
// is dropped before its work has ended.
func (w *world) stored(by string, before, after conductor.Record) {
	table := states.Latest().Table()
	old, now := w.decoded(before), w.decoded(after)
	w.forget(before)
	if old.ProvisionState != now.ProvisionState {
		w.log("%s: node %s %s -> %s (reserved by %q)", by, now.Name, old.ProvisionState, now.ProvisionState, now.Reservation)
		if !follows(old.ProvisionState, now.ProvisionState) {
			w.failf("node %s: %q was stored after %q by %s", now.Name, now.ProvisionState, old.ProvisionState, by)
		}
	}
	if old.ProvisionState != now.ProvisionState && table.Phase(old.ProvisionState) != states.PhaseWaiting && table.Stuck().Has(now.ProvisionState) {
		w.begins(after.ID)
	}
	if a := w.agentOf(after.ID); a != nil && old.Reservation != "" { // a client may end work that no conductor has begun
		if step := a.missing(old.ProvisionState, now.ProvisionState); step != "" {
			w.failf("node %s: %q was stored after %q by %s, and the agent has not done %s", now.Name, now.ProvisionState, old.ProvisionState, by, step)
		}
	}
	if problem := old.problemOf(now); problem != "" {
		w.failf("node %s: %s after a write by %s: %v, then %v", now.Name, problem, by, old.Transitions, now.Transitions)
	}
	works := old.Reservation != "" && old.TargetPower == states.NoPower
	if works && now.Reservation == "" && old.ProvisionState == now.ProvisionState && table.Stuck().Has(old.ProvisionState) {
		w.failf("node %s: %s dropped the reservation of %s without an end of the work", now.Name, by, old.Reservation)
	}
	if old.Claim != "" && now.Claim != old.Claim && old.Reservation != by {
		if alive, _ := w.alive(old.Claim); alive {
			w.failf("node %s: %s took the reservation of %s, which is alive", now.Name, by, old.Reservation)
		}
	}
}

func (w *world) alive(claim string) (bool, error) {
	w.members.mu.Lock()
	defer w.members.mu.Unlock()
	_, ok := w.members.members[claim]
	return ok, nil
}

// begins records that new work starts on a node: it forgets the steps of the work before.
func (w *world) begins(id string) {
	if a := w.agentOf(id); a != nil {
		a.begins()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, id)
}

// simNode is the checked part of a stored node.
type simNode struct {
	Name           string                       `json:"name"`
	ProvisionState states.State                 `json:"provision_state"`
	Target         states.State                 `json:"target_provision_state"`
	LastError      string                       `json:"last_error"`
	Transitions    []conductor.TransitionRecord `json:"transitions"`
	TargetPower    states.Power                 `json:"target_power_state"`
	Maintenance    bool                         `json:"maintenance"`
	Reservation    string                       `json:"reservation"`
	Claim          string                       `json:"claim"`
}

// simTransitions is how many transitions a record keeps.
const simTransitions = 5

// problemOf returns what is wrong with the transitions of the next version of a record, "" for
// nothing. They are those of the record before and those of the write, if it moves the node, up to
// simTransitions. The new ones are rows of the table which lead from the state before to the state of
// the record, one row or two.
func (n simNode) problemOf(next simNode) string {
	state := n.ProvisionState
	var added []conductor.TransitionRecord
	for state != next.ProvisionState {
		if len(added) == min(2, len(next.Transitions)) {
			return "the new transitions do not lead to the state"
		}
		added = next.Transitions[len(next.Transitions)-len(added)-1:]
		state = n.ProvisionState
		for _, t := range added {
			if to, ok := states.Latest().Table().Next(t.From, t.Event); t.From != state || !ok || t.To != to {
				break
			}
			state = t.To
		}
	}
	want := slices.Concat(n.Transitions, added)
	if want = want[max(0, len(want)-simTransitions):]; !slices.Equal(want, next.Transitions) {
		return "a transition was lost, or changed"
	}
	if len(added) == 0 {
		return ""
	}
	last := added[len(added)-1]
	if begin, cut := strings.CutSuffix(last.LastError, "…"); last.Target != next.Target || last.LastError != next.LastError && !(cut && strings.HasPrefix(next.LastError, begin)) {
		return "the last transition does not have the target and the last error of the record"
	}
	return ""
}

// decoded returns a stored record as a node.
func (w *world) decoded(r conductor.Record) simNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.nodes[r.Revision]
	if !ok {
		require.NoError(w.t, json.Unmarshal(r.Value, &n))
		w.nodes[r.Revision] = n
	}
	return n
}

// forget forgets a record that was overwritten.
func (w *world) forget(r conductor.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, r.Revision)
}

// follows reports whether one transition leads from a state to another, or two in the case of
// an aborted service.
func follows(from, to states.State) bool {
	for row := range states.Latest().Table().Transitions() {
		if row.From == from && row.To == to {
			return true
		}
	}
	return (from == states.ServiceWait || from == states.ServiceHold) && to == states.Active
}

// operate simulates the hardware of one conductor: an operation is slow, fails, hangs until it
// is cancelled, or waits for a call-back. The conductor may be stopped when it ends. operate fails the
// test if another conductor works on the same node, or if this one does not hold it.
func (w *world) operate(by string) func(context.Context, *conductor.Node, string) error {
	return func(ctx context.Context, n *conductor.Node, operation string) error {
		if operation == "read power" {
			return nil
		}
		w.begin(by, n, operation)
		w.log("%s: node %s %s", by, n.Name, operation)
		sleep.For(ctx, w.upTo(4*time.Second, by, n.UUID, operation, "takes"))
		hangs := w.chance(2, by, n.UUID, operation, "hangs")
		if hangs {
			sleep.For(ctx, hang)
		}
		w.ends(by, n)
		if w.chance(2, by, n.UUID, operation, "is stopped") {
			w.stop(by, w.upTo(3*lease, by, "is stopped for"))
		}
		w.whileStopped(by, n.UUID)
		switch {
		case hangs:
			return ctx.Err()
		case w.chance(15, by, n.UUID, operation, "fails"):
			return errors.New("the hardware fails")
		case n.Interfaces["deploy"] != "direct" && w.chance(15, by, n.UUID, operation, "waits"):
			return conductor.ErrWait
		}
		return ctx.Err()
	}
}

// begin records the begin of an operation.
func (w *world) begin(by string, n *conductor.Node, operation string) {
	r, err := w.memory.Get(context.Background(), conductor.KindNode, n.UUID)
	require.NoError(w.t, err)
	now := w.decoded(r)
	if alive, _ := w.alive(now.Claim); now.Reservation != by || !alive {
		w.failf("node %s: %s does %s, and the node is reserved by %q", n.Name, by, operation, now.Reservation)
	}
	w.mu.Lock()
	other, ok := w.busy[n.UUID]
	w.busy[n.UUID] = by
	again := strings.Contains(operation, ".") && w.begun[n.UUID][operation]
	if w.begun[n.UUID] == nil {
		w.begun[n.UUID] = map[string]bool{}
	}
	w.begun[n.UUID][operation] = true
	w.mu.Unlock()
	if ok {
		w.failf("node %s: %s does %s while %s works on it", n.Name, by, operation, other)
	}
	if again {
		w.failf("node %s: %s begins %s again in the same work", n.Name, by, operation)
	}
}

// ends records the end of an operation.
func (w *world) ends(by string, n *conductor.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[n.UUID] == by {
		delete(w.busy, n.UUID)
	}
}

// simHardware is hardware whose steps consist of several operations: each reboots the machine when it
// is done, unless an agent runs on it.
type simHardware struct {
	*conductor.Fake
	world *world
}

func (h simHardware) Steps(n *conductor.Node, work states.State) []conductor.Step {
	steps := h.Fake.Steps(n, work)
	for i, step := range steps {
		steps[i].Run = func(ctx context.Context, t *conductor.Task) error {
			if err := step.Run(ctx, t); err != nil || h.UsesAgent(n) && (work == states.Cleaning || work == states.Servicing) {
				return err
			}
			if err := h.SetPower(ctx, t.Node(), states.PowerOff); err != nil {
				return err
			}
			return h.SetPower(ctx, t.Node(), states.PowerOn)
		}
	}
	return steps
}

func (h simHardware) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	if err := conductor.Permit(ctx); err != nil {
		return err
	}
	if a := h.world.agentOf(n.UUID); a != nil {
		a.power(power)
	}
	return h.Fake.SetPower(ctx, n, power)
}

func (h simHardware) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	if a := h.world.agentOf(n.UUID); a != nil {
		return a.powerState(), nil
	}
	return h.Fake.PowerState(ctx, n)
}

// check verifies that no work is left at the end: no node is reserved, is in a working or
// waiting state, or has a target power state.
func (w *world) check(nodes []*conductor.Node) {
	table := states.Latest().Table()
	for _, n := range nodes {
		r, err := w.memory.Get(context.Background(), conductor.KindNode, n.UUID)
		require.NoError(w.t, err)
		n := w.decoded(r)
		if n.Reservation != "" || n.TargetPower != states.NoPower || table.Stuck().Has(n.ProvisionState) || table.Phase(n.ProvisionState) == states.PhaseWaiting && !n.Maintenance {
			w.failf("node %s has unfinished work: state %q, reserved by %q, target power state %q", n.Name, n.ProvisionState, n.Reservation, n.TargetPower)
		}
	}
}
