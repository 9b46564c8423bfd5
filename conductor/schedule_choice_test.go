// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/schedules"
	"github.com/ironstate/ironstate/states"
)

// scheduleClient is a client that asks once.
type scheduleClient struct {
	scheduleRequest
	asks     *scheduleProcess // nil until it asks
	answered bool
	err      string
}

// ask sends the request of a client.
func (s *scheduleRun) ask(c *scheduleClient, p *scheduleProcess) {
	c.asks = p
	before := s.moved(scheduleNode, c.word)
	s.group.Go(func() {
		err := c.do(context.Background(), p.conductor)
		s.touch("process "+p.name, true)
		if p.dead || s.isClosed() {
			return
		}
		c.answered, c.err = true, fmt.Sprint(err)
		if errors.Is(err, conductor.NoWorker) && s.faults == s.scenario.faults {
			s.failf("without a fault client %q was not served: %v", c.text, err)
		}
		if c.word == "" {
			return
		}
		s.touch(string(conductor.KindNode), false)
		s.told(scheduleNode, c.word, before, err)
		if s.only(c) && refused(err) && s.moved(scheduleNode, c.word) > before {
			s.failf("a client was told that its request %q is refused, and the record has its transition: %v", c.word, err)
		}
	})
}

// only reports whether no other client sends the same request.
func (s *scheduleRun) only(c *scheduleClient) bool {
	return !slices.ContainsFunc(s.clients, func(other *scheduleClient) bool { return other != c && other.word == c.word })
}

// refused reports whether an error says that a request was refused. A conductor that does not answer another one may
// have done it.
func refused(err error) bool {
	var refusal *conductor.Error
	var request *states.RequestError
	return errors.As(err, &refusal) && !errors.Is(err, conductor.NoWorker) || errors.As(err, &request)
}

func (s *scheduleRun) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// free returns the choices that are no faults, in a fixed order: what processes are told, then calls, then clients
// and leases.
func (s *scheduleRun) free() (all []schedules.Choice) {
	for _, w := range s.records.watches {
		if w.lags && !w.by.dead {
			name := w.by.name + ": its watch of " + string(w.kind) + " goes on"
			all = append(all, schedules.Choice{Name: name, Idle: true, Do: func() { s.lag(w, false) }})
		}
	}
	for _, p := range s.processes {
		if p.session == nil || p.dead {
			continue
		}
		if _, member := s.members[p.session.self.ID]; !member {
			all = append(all, schedules.Choice{Name: p.name + ": learns that it is no member", Do: func() { s.lose(p) }})
		} else if !slices.EqualFunc(p.session.heard, s.list(), sameMember) {
			all = append(all, schedules.Choice{Name: p.name + ": is told the members", Do: func() { s.tellMembers(p) }})
		}
	}
	for _, c := range s.sorted() {
		if name := c.by.name + ": " + c.name; !c.left {
			all = append(all, schedules.Choice{Name: name, Do: func() { s.answer(c, "done") }})
		} else {
			all = append(all, schedules.Choice{Name: name + ", late", Idle: true, Do: func() { s.answer(c, "late") }})
		}
	}
	for i, c := range s.clients {
		p := s.process(c.by)
		r, ok := s.records.find(conductor.KindNode, scheduleNode)
		if ok && c.asks == nil && !p.dead && slices.Contains(c.when, s.decoded(r).State) {
			all = append(all, schedules.Choice{Name: fmt.Sprintf("client %d: asks %s to %s", i+1, p.name, c.text), Idle: true, Do: func() {
				s.touch(string(conductor.KindNode), false)
				s.touch("process "+p.name, true)
				s.ask(c, p)
			}})
		}
	}
	all = append(all, s.agentChoices()...)
	for _, p := range s.processes {
		switch {
		case p.dead && p.session != nil && s.hasMember(p):
			all = append(all, schedules.Choice{Name: p.name + ": its lease ends", Do: func() { s.expire(p) }})
		case p.dead && s.scenario.restarts:
			all = append(all, schedules.Choice{Name: p.name + ": starts again", Idle: true, Do: func() { s.restart(p) }})
		}
	}
	return all
}

// faulty returns the choices that are faults.
func (s *scheduleRun) faulty() (all []schedules.Choice) {
	if s.faults == 0 {
		return nil
	}
	for _, c := range s.sorted() {
		if c.left {
			continue
		}
		name := c.by.name + ": " + c.name
		all = append(all, schedules.Choice{Name: name + ", fails", Do: func() { s.answer(c, "fails") }})
		if c.writes || c.lose != nil {
			all = append(all, schedules.Choice{Name: name + ", not answered", Do: func() { s.answer(c, "lost") }})
		}
		if c.writes && c.kind == conductor.KindNode {
			all = append(all, schedules.Choice{Name: name + ", answered later", Do: func() { s.answer(c, "later") }})
		}
		if c.writes && c.object != "machine" && s.broken.undurable {
			all = append(all, schedules.Choice{Name: name + ", answered and not done", Do: func() { s.answer(c, "undone") }})
		}
		if s.broken.past && c.past != nil && c.kind == conductor.KindNode && s.records.writes["nodes/"+scheduleNode] > 1 {
			all = append(all, schedules.Choice{Name: name + ", its first version", Do: func() { s.answer(c, "past") }})
		}
	}
	for _, p := range s.processes {
		if p.dead {
			continue
		}
		all = append(all, schedules.Choice{Name: p.name + ": dies", Do: func() { s.die(p) }})
		if p.session != nil && s.hasMember(p) {
			all = append(all, schedules.Choice{Name: p.name + ": its lease ends", Do: func() { s.expire(p) }})
		}
	}
	for _, w := range s.records.watches {
		if name := w.by.name + ": its watch of " + string(w.kind); !w.by.dead && pointed(w.kind) {
			all = append(all, schedules.Choice{Name: name + " breaks", Do: func() { s.breaks(w) }})
			if !w.skips && s.broken.forgetful {
				all = append(all, schedules.Choice{Name: name + " leaves the next change out", Do: func() { s.skip(w) }})
			}
			if !w.lags {
				all = append(all, schedules.Choice{Name: name + " lags", Do: func() { s.lag(w, true) }})
			}
		}
	}
	if slices.ContainsFunc(s.sorted(), func(c *scheduleCall) bool { return !c.left }) {
		all = append(all, schedules.Choice{Name: schedules.Passes, Do: s.pass})
	}
	for i := range all {
		all[i].Fault = true
	}
	return all
}

// Choices returns all choices of a state. Time passes freely where nothing else can happen, apart from the request of
// a client and the arrival of a call that was given up.
func (s *scheduleRun) Choices() []schedules.Choice {
	all := append(s.free(), s.faulty()...)
	if !slices.ContainsFunc(all, func(c schedules.Choice) bool { return !c.Fault && !c.Idle }) {
		all = append(all, schedules.Choice{Name: schedules.Passes, Do: s.pass})
	}
	return all
}

// sorted returns the calls that wait and can arrive, in the order of their names.
func (s *scheduleRun) sorted() (calls []*scheduleCall) {
	for _, c := range s.pending {
		if !c.by.dead || c.left {
			calls = append(calls, c)
		}
	}
	slices.SortStableFunc(calls, func(a, b *scheduleCall) int {
		return strings.Compare(a.by.name+a.name, b.by.name+b.name)
	})
	return calls
}

// process returns the process with a name, or the first.
func (s *scheduleRun) process(name string) *scheduleProcess {
	return s.processes[max(0, slices.IndexFunc(s.processes, func(p *scheduleProcess) bool { return p.name == name }))]
}

func (s *scheduleRun) hasMember(p *scheduleProcess) bool {
	_, member := s.members[p.session.self.ID]
	return member
}

// Apply carries a choice out and waits until all goroutines wait again. A microsecond passes before, since a record's
// times say which of its versions it is. A goroutine whose timer ends at that time goes on before the choice.
func (s *scheduleRun) Apply(c schedules.Choice) schedules.Access {
	select {
	case <-s.news:
	default:
	}
	s.publish()
	time.Sleep(time.Microsecond)
	synctest.Wait()
	s.mu.Lock()
	s.access, s.result = schedules.Access{}, ""
	s.drawer, _, _ = strings.Cut(c.Name, ":")
	s.mu.Unlock()
	if c.Fault {
		s.touch("faults", true)
		s.faults--
		s.quiet = 0
	}
	c.Do()
	s.settle(c.Name)
	return s.access
}

// postpone does a call, of which the answer waits for another choice.
func (s *scheduleRun) postpone(c *scheduleCall) {
	s.touch("process "+c.by.name, true)
	s.touch(c.object, true)
	s.quiet = 0
	result, err := c.do()
	s.result = fmt.Sprint(result, err)
	c.name, c.object, c.writes, c.do = "be answered to "+c.name, "answers", false, func() (string, error) { return result, err }
}

// answer lets a call go on: it is done, fails before it arrives, is done and answered later or not at all, or arrives
// after its caller has given up.
func (s *scheduleRun) answer(c *scheduleCall, how string) {
	if how == "later" {
		s.postpone(c)
		return
	}
	s.mu.Lock()
	s.pending = slices.DeleteFunc(s.pending, func(other *scheduleCall) bool { return other == c })
	s.mu.Unlock()
	if how != "late" {
		s.touch("process "+c.by.name, true)
	}
	err := errCut
	if c.object == "machine" {
		err = errHardware
	}
	switch how {
	case "fails":
	case "undone":
		err = nil
	default:
		s.touch(c.object, c.writes || c.lose != nil || c.name == "join")
		if c.writes {
			s.quiet = 0
		}
		do := c.do
		if how == "past" {
			do = c.past
		}
		if how == "lost" && c.lose != nil {
			do, how = c.lose, "done"
		}
		result, done := do()
		s.result = fmt.Sprint(result, done)
		if how != "lost" {
			err = done
		}
	}
	if how != "late" {
		c.answer <- err
	}
}

// breaks ends a watch with an error.
func (s *scheduleRun) breaks(w *scheduleWatch) {
	s.touch("process "+w.by.name, true)
	s.touch(string(w.kind), true)
	s.records.watches = slices.DeleteFunc(s.records.watches, func(other *scheduleWatch) bool { return other == w })
	close(w.broken)
}

// lag stops a watch, or lets it go on.
func (s *scheduleRun) lag(w *scheduleWatch, lags bool) {
	s.touch("process "+w.by.name, true)
	s.touch(string(w.kind), true)
	w.lags = lags
}

func (s *scheduleRun) skip(w *scheduleWatch) {
	s.touch("process "+w.by.name, true)
	s.touch(string(w.kind), true)
	w.skips = true
}

func (s *scheduleRun) tellMembers(p *scheduleProcess) {
	s.touch("process "+p.name, true)
	s.touch("members", false)
	p.session.heard = s.list()
	p.session.news <- p.session.heard
}

// lose tells a process that it is no member.
func (s *scheduleRun) lose(p *scheduleProcess) {
	s.touch("process "+p.name, true)
	session := p.session
	p.session = nil
	close(session.lost)
}

// expire ends the lease of a process.
func (s *scheduleRun) expire(p *scheduleProcess) {
	s.touch("members", true)
	s.touch("machine", true)
	delete(s.members, p.session.self.ID)
	s.suspended(p.name)
}

// die ends a process, with its calls that have not arrived.
func (s *scheduleRun) die(p *scheduleProcess) {
	s.touch("process "+p.name, true)
	s.touch("machine", true)
	p.dead = true
	s.suspended(p.name)
}

// scheduleEpoch is longer than all choices of a schedule together. Timers that were set within it for the same time
// fire at the same time, so that the choices for their calls decide the order of their goroutines.
const scheduleEpoch = time.Millisecond

// scheduleQuiet is how often time passes without a write until a schedule ends: the power sync reads for ever.
const scheduleQuiet = 6

// restart starts a process that has died. Its first calls are done in a fixed order.
func (s *scheduleRun) restart(dead *scheduleProcess) {
	s.touch(schedules.Everything, true)
	s.records.watches = slices.DeleteFunc(s.records.watches, func(w *scheduleWatch) bool { return w.by == dead })
	p := &scheduleProcess{scheduleRun: s, name: dead.name}
	s.processes[slices.Index(s.processes, dead)] = p
	s.retired = append(s.retired, dead)
	p.start()
	for s.tell(); ; s.tell() {
		calls := s.sorted()
		i := slices.IndexFunc(calls, func(c *scheduleCall) bool { return c.by == p && c.begins() })
		if i < 0 {
			return
		}
		s.answer(calls[i], "done")
	}
}

// begins reports whether a call is one that a process makes when it starts.
func (c *scheduleCall) begins() bool { return c.name == "join" || strings.HasPrefix(c.name, "watch ") }

// The time that passes at once where nothing else can happen, and while a call waits.
const (
	scheduleRest  = waitTimeout + 5*time.Minute
	scheduleDelay = 61 * time.Second
)

// pass lets time pass until a goroutine calls, or gives a call up.
func (s *scheduleRun) pass() {
	s.touch(schedules.Everything, true)
	s.quiet++
	if s.agent != nil {
		s.agent.news = true // heartbeats are periodic
	}
	limit := scheduleRest
	if slices.ContainsFunc(s.sorted(), func(c *scheduleCall) bool { return !c.left }) {
		limit = scheduleDelay
	}
	s.publish()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.news:
		time.Sleep(scheduleEpoch)
		s.over = s.quiet == scheduleQuiet
	case <-timer.C:
		s.over = limit == scheduleRest
		for _, w := range s.records.watches {
			s.over, w.lags = s.over && !w.lags, false
		}
	}
}
