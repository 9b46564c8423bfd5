// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// promise returns the checks of a simulation.
func (w *world) promise() *promiseChecks {
	p := newPromiseChecks(w.failf, w.log, w.alive)
	p.begins = func(id string) {
		if a := w.agentOf(id); a != nil {
			a.begins()
		}
	}
	undone := p.undone
	p.undone = func(n *promises.Version, to states.State) string {
		if a := w.agentOf(n.UUID); a != nil {
			return a.missing(n.State, to)
		}
		return undone(n, to)
	}
	return p
}

func (w *world) alive(claim string) bool {
	w.members.mu.Lock()
	defer w.members.mu.Unlock()
	_, ok := w.members.members[claim]
	return ok
}

// simTransitions is how many transitions a record keeps.
const simTransitions = 5

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
		w.ends(by, n.UUID)
		if w.chance(2, by, n.UUID, operation, "is stopped") {
			w.stop(by, w.upTo(3*lease, by, "is stopped for"))
		}
		w.whileStopped(by, n.UUID)
		switch {
		case hangs:
		case w.chance(15, by, n.UUID, operation, "fails"):
			return errors.New("the hardware fails")
		case n.Interfaces["deploy"] != "direct" && w.chance(15, by, n.UUID, operation, "waits"):
			w.succeeds(n.UUID, operation)
			return conductor.ErrWait
		}
		if ctx.Err() == nil {
			w.succeeds(n.UUID, operation)
		}
		return ctx.Err()
	}
}

// begin records the begin of an operation.
func (w *world) begin(by string, n *conductor.Node, operation string) {
	r, err := w.memory.Get(context.Background(), conductor.KindNode, n.UUID)
	require.NoError(w.t, err)
	w.operates(by, r, operation)
}

// simHardware is hardware whose steps consist of several operations: each reboots the machine when it
// is done, unless an agent runs on it.
type simHardware struct {
	*conductor.Fake
	world *world
}

func (h simHardware) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	steps := h.Fake.Steps(n, work)
	for i, step := range steps {
		steps[i].Run = func(ctx context.Context, t *conductor.Task) error {
			if err := step.Run(ctx, t); err != nil || h.UsesAgent(n, work) && (work == states.WorkClean || work == states.WorkService) {
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

// check verifies that no node waits for nobody at the end.
func (w *world) check(nodes []*conductor.Node) {
	for _, n := range nodes {
		r, err := w.memory.Get(context.Background(), conductor.KindNode, n.UUID)
		require.NoError(w.t, err)
		if reason := w.unfinished(r); reason != "" {
			w.failf("node %s has unfinished work: %s", n.Name, reason)
		}
		if move := w.unreported(n.UUID); move != nil {
			w.failf("node %s: %s has not reported %v", n.Name, move.by, move)
		}
	}
}
