// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Outcome is the outcome of the work that a step of a life starts.
type Outcome string

const (
	Done Outcome = "done"
	Fail Outcome = "fail"
	// Wait is Done for work that cannot wait.
	Wait Outcome = "wait"
)

// Outcomes lists all outcomes.
var Outcomes = []Outcome{Done, Fail, Wait}

// life is the same node on three systems that get the same inputs: Ironic, this
// module's conductor behind its API, and a Machine.
type life struct {
	ironic   *Ironic
	service  *scripted
	uuid     string
	machine  *machine.Machine
	since    string         // the time of the last move of Ironic's node, from its database
	seen     []machine.Node // the polled states of Ironic's node, without repetitions in a row
	compared int            // number of states in seen that were compared with ironstate's
}

// beginLife creates a node in a stable or failed state on all three systems.
func (i *Ironic) beginLife(ctx context.Context, s *scripted, from states.State) *life {
	at := i.inState(from)
	uuid := i.nodeIn(ctx, at, nil)
	s.newNode(ctx, uuid)
	s.put(ctx, uuid, at)
	m := try.Get(machine.New(machine.Config{Table: i.table(), Node: at, Name: uuid}))
	return &life{ironic: i, service: s, uuid: uuid, machine: m, seen: []machine.Node{at}, compared: 1}
}

// request requests a provision state on all systems and waits for the end of the work
// that the request starts. It returns the first difference, or nil.
func (l *life) request(ctx context.Context, word string, v states.APIVersion, outcome Outcome) *Difference {
	from := l.machine.Node()
	what := fmt.Sprintf("%q in %v at %v, work ends with %s", word, from.State, v, outcome)
	l.setOutcome(ctx, outcome)
	if word == "rebuild" {
		l.setImage(ctx)
	}
	answer := l.ironic.request(ctx, v, l.uuid, word)
	refused := l.decide(ctx, word, v)
	if want, got := describe(answer), describeError(refused); want != got {
		return &Difference{what, want, got}
	}
	got := l.service.Client.Provision(ctx, v, l.uuid, l.ironic.bodyFor(word))
	if want, got := describe(answer), describe(got); want != got {
		return &Difference{what + ", of ironstate's API", want, got}
	}
	if refused != nil {
		return l.compare(ctx, what)
	}
	if err := l.work(ctx, outcome); err != nil {
		return &Difference{what, "accepted", err.Error()}
	}
	return l.settle(ctx, what)
}

// decide returns the refusal of a request by package admission or the machine, nil if it is
// accepted. The fields other than the state come from the record in ironstate.
func (l *life) decide(ctx context.Context, word string, v states.APIVersion) error {
	n := try.Get(l.service.conductor.Node(ctx, l.uuid))
	if _, refused := l.service.conductor.Rules().Provision(n.Fields(), word, v); refused != nil {
		return refused
	}
	return l.machine.Request(ctx, word, v)
}

// maintain puts the node into maintenance, or ends its maintenance, as a client does.
func (l *life) maintain(ctx context.Context, on bool) *Difference {
	what := fmt.Sprintf("maintenance: %v", on)
	l.setOutcome(ctx, Done)
	want := describe(l.ironic.Client.Maintain(ctx, l.ironic.newest(), l.uuid, on))
	got := describe(l.service.Client.Maintain(ctx, l.ironic.newest(), l.uuid, on))
	if want != got {
		return &Difference{what + ", of ironstate's API", want, got}
	}
	return l.compare(ctx, what)
}

// call resumes the node's work, which waits for a call.
func (l *life) call(ctx context.Context, outcome Outcome) *Difference {
	if outcome == Wait {
		outcome = Done
	}
	from := l.machine.Node()
	what := fmt.Sprintf("a call in %v, work ends with %s", from.State, outcome)
	l.setOutcome(ctx, outcome)
	answer := l.ironic.Client.Call(ctx, l.ironic.newest(), l.uuid)
	if answer.Status >= http.StatusBadRequest {
		try.Failf("lockstep: call for a node in %v: %s", from.State, answer.Fault)
	}
	if err := errors.Join(l.resume(ctx, outcome), l.service.call(ctx, l.uuid, outcome)); err != nil {
		return &Difference{what, "accepted", err.Error()}
	}
	return l.settle(ctx, what)
}

// expire makes the node's wait time out. A node in maintenance does not time out.
func (l *life) expire(ctx context.Context) *Difference {
	const age = 24 * time.Hour
	from := l.machine.Node()
	lastError, ok := from.TimedOut(age, machine.DefaultTimeouts())
	if !ok {
		try.Failf("lockstep: a node in %v does not time out", from.State)
	}
	if found := l.maintain(ctx, false); found != nil {
		return found
	}
	past := time.Now().UTC().Add(-age)
	l.since = past.Format(time.DateTime)
	l.ironic.database.write(l.uuid, columns{"provision_updated_at": l.since, "inspection_started_at": l.since})
	what := fmt.Sprintf("a timeout in %v", from.State)
	if err := l.machine.Report(ctx, states.EventFail, lastError); err != nil {
		return &Difference{what, "fails", err.Error()}
	}
	l.service.update(ctx, l.uuid, func(n *conductor.Node) { n.ProvisionUpdatedAt = &past })
	return l.settle(ctx, what)
}

// setOutcome sets the outcome of the next work, and resets the time of the last move.
func (l *life) setOutcome(ctx context.Context, outcome Outcome) {
	l.since = ""
	l.service.update(ctx, l.uuid, func(n *conductor.Node) { n.Extra = map[string]any{"outcome": string(outcome)} })
	l.ironic.database.write(l.uuid, columns{"extra": fmt.Sprintf(`{"outcome": %q}`, outcome), "provision_updated_at": nil})
}

// setImage gives the node its image again: the end of an instance has removed it.
func (l *life) setImage(ctx context.Context) {
	l.service.update(ctx, l.uuid, func(n *conductor.Node) { n.InstanceInfo = withImage() })
	l.ironic.database.write(l.uuid, columns{"instance_info": columnsOf(machine.Node{})["instance_info"]})
}

// work reports the outcome of the machine's work, until the machine has none in progress or waits.
func (l *life) work(ctx context.Context, outcome Outcome) error {
	for {
		from := l.machine.Node().State
		if l.ironic.table().Phase(from) != states.PhaseWorking {
			return nil
		}
		event, text := states.EventDone, ""
		_, canWait := l.ironic.table().Next(from, states.EventWait)
		switch {
		case outcome == Fail:
			event, text = states.EventFail, "fails by order"
		case outcome == Wait && canWait:
			event = states.EventWait
		}
		if err := l.machine.Report(ctx, event, text); err != nil {
			return err
		}
	}
}

// resume reports the call for which the machine waits. The call ends an inspection by
// another service.
func (l *life) resume(ctx context.Context, outcome Outcome) error {
	if l.machine.Node().State != states.InspectWait {
		if err := l.machine.Report(ctx, states.EventResume, ""); err != nil {
			return err
		}
		return l.work(ctx, outcome)
	}
	if outcome == Fail {
		return l.machine.Report(ctx, states.EventFail, "fails by order")
	}
	return l.machine.Report(ctx, states.EventDone, "")
}

// settle waits until Ironic's node has moved and its work has ended, and compares the systems. It has no limit of its
// own, since a difference would depend on the load of the machine.
func (l *life) settle(ctx context.Context, what string) *Difference {
	await(ctx, 2*time.Millisecond, func() (r row, settled bool) {
		r = l.ironic.database.read(l.uuid)
		if at := (machine.Node{State: r.State, Target: r.Target}); at != l.seen[len(l.seen)-1] {
			l.seen = append(l.seen, at)
		}
		return r, r.Reservation == "" && r.Moved != l.since && !l.ironic.table().Stuck().Has(r.State)
	})
	return l.compare(ctx, what)
}

// compare compares the node in Ironic's API with the machine and with ironstate's API.
func (l *life) compare(ctx context.Context, what string) *Difference {
	shown, answer := l.ironic.Client.Show(ctx, l.ironic.newest(), l.uuid)
	want, got := describeNode(shown.Node), describeNode(l.machine.Node())
	if answer.Status != http.StatusOK {
		want = answer.Fault
	}
	if want != got {
		return &Difference{what, want, got}
	}
	return l.compareRecords(ctx, what, answer)
}

func describeNode(n machine.Node) string {
	text := "without last error"
	if n.LastError != "" {
		text = "with last error"
	}
	return fmt.Sprintf("in %v, target %v, %s", n.State, n.Target, text)
}
