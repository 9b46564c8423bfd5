// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// scheduleMembership is the membership as one process of a schedule sees it.
type scheduleMembership struct{ *scheduleProcess }

// Join implements [conductor.Membership].
func (s scheduleMembership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		session := &scheduleSession{self: self, news: make(chan []conductor.Member), lost: make(chan struct{})}
		err := s.call(ctx, &scheduleCall{name: "join", object: "members", do: func() (string, error) {
			s.named[conductor.Kind(s.name)]++
			s.names[self.ID] = fmt.Sprint(s.name, "-", s.named[conductor.Kind(s.name)])
			s.members[self.ID] = self
			s.session = session
			return "", nil
		}})
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			select {
			case members := <-session.news:
				if !yield(members, nil) {
					return
				}
			case <-session.lost:
				yield(nil, errCut)
				return
			case <-ctx.Done():
				return
			case <-s.closed:
				return
			}
		}
	}
}

// Alive implements [conductor.Membership].
func (s scheduleMembership) Alive(ctx context.Context, id string) (alive bool, err error) {
	name := "ask whether " + s.nameOf("member", id) + " is alive"
	err = s.call(ctx, &scheduleCall{name: name, object: "members", do: func() (string, error) {
		alive = s.isMember(id) && !s.broken.impatient
		return fmt.Sprint(alive), nil
	}})
	return alive, err
}

// Holds implements [conductor.Membership].
func (s scheduleMembership) Holds(id string) bool {
	s.publish()
	if s.dead {
		<-s.closed
		return false
	}
	return s.isMember(id) || s.broken.believes
}

// list returns the members in the order of their names.
func (s *scheduleRun) list() (all []conductor.Member) {
	for _, p := range s.processes {
		for _, m := range s.members {
			if m.Hostname == p.name {
				all = append(all, m)
			}
		}
	}
	return all
}

// scheduleHardware is fake-hardware of which the machine is the same for all processes.
type scheduleHardware struct {
	*conductor.Fake
	by *scheduleProcess
}

// Verify implements [conductor.Hardware].
func (h scheduleHardware) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	_, err := h.Fake.Verify(ctx, n)
	return h.by.power, err
}

// PowerState implements [conductor.Hardware].
func (h scheduleHardware) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	if err := conductor.Permit(ctx); err != nil {
		return states.NoPower, err
	}
	h.by.touch("machine", false)
	return h.by.power, nil
}

// Steps implements [conductor.Hardware]. A step may send a second request.
func (h scheduleHardware) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	steps := h.Fake.Steps(n, work)
	for i, step := range steps {
		if h.by.scenario.twice {
			steps[i].Run = func(ctx context.Context, t *conductor.Task) error {
				if err := step.Run(ctx, t); err != nil {
					return err
				}
				if h.by.broken.unfenced {
					return h.by.operate(ctx, t.Node(), "power on")
				}
				return h.SetPower(ctx, t.Node(), states.PowerOn)
			}
		}
	}
	return steps
}

// operate is an operation of a conductor on the machine: a request that is sent at once, and arrives and is answered,
// or not, by a choice.
func (p *scheduleProcess) operate(ctx context.Context, n *conductor.Node, operation string) error {
	p.touch(string(conductor.KindNode), false)
	p.touch("machine", true)
	p.direct.Lock()
	r, ok := p.records.find(conductor.KindNode, n.UUID)
	p.direct.Unlock()
	if !ok {
		p.failf("%s does %s to a node that was deleted", p.name, operation)
		return errHardware
	}
	p.operates(p.name, r, operation)
	err := p.call(ctx, &scheduleCall{name: "do " + operation, object: "machine", writes: true, do: func() (string, error) {
		if power, err := states.ParsePower(operation); err == nil {
			p.power = power.Target()
			p.powered(power)
		}
		p.succeeds(n.UUID, operation)
		return "", p.scenario.waits[operation]
	}})
	p.touch("machine", true)
	p.ends(p.name, n.UUID)
	return err
}
