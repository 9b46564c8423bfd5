// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/cespare/xxhash/v2"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/schedules"
)

// settle waits until all goroutines wait, and updates the histories of the processes. The choice is the one that was
// carried out.
func (s *scheduleRun) settle(choice string) {
	s.tell()
	for _, p := range s.processes {
		known, idle := p.conductor.LocalState()
		calls := 0
		for _, c := range s.pending {
			if c.by == p && !c.left {
				calls++
			}
		}
		seen := fmt.Sprint(known, idle, calls)
		_, touched := s.access["process "+p.name]
		_, all := s.access[schedules.Everything]
		switch {
		case idle && calls == 0 && p.waits():
			p.history = 0
		case all || touched:
			p.history = xxhash.Sum64String(fmt.Sprint(p.history, choice, s.result, seen))
		}
		p.seen = seen
	}
}

// waits reports whether a process whose workers are idle has no other goroutine in the middle of something.
func (p *scheduleProcess) waits() bool {
	if p.scenario.powerSync || p.session == nil || len(p.records.kinds["calls"]) > 0 {
		return false
	}
	for _, c := range p.clients {
		if c.asks == p && !c.answered {
			return false
		}
	}
	if p.agent != nil && p.agent.asks == p {
		return false
	}
	watches := 0
	for _, w := range p.records.watches {
		if w.by == p && pointed(w.kind) {
			watches++
		}
	}
	return watches == 3
}

// tell waits until all goroutines wait, and lets each watch that does not lag yield its changes.
func (s *scheduleRun) tell() {
	synctest.Wait()
	for told := true; told; {
		told = false
		for _, w := range s.records.watches {
			if len(w.queue) == 0 || w.lags || w.by.dead {
				continue
			}
			if pointed(w.kind) {
				s.touch("process "+w.by.name, true)
			}
			change := w.queue[0]
			w.queue, told = w.queue[1:], true
			if w.skips {
				w.skips = false
				break
			}
			w.next <- change
			synctest.Wait()
			break // the watches may be others now
		}
	}
}

// Key returns a hash of the state of the run, by which the same state is recognized.
func (s *scheduleRun) Key() uint64 {
	var b strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(s.records.kinds)) {
		for _, r := range s.records.of(kind) {
			if pointed(kind) {
				fmt.Fprintln(&b, s.text(r))
			}
		}
	}
	if s.scenario.powerSync {
		fmt.Fprintln(&b, s.quiet)
	}
	fmt.Fprintln(&b, s.power, s.faults, slices.Sorted(maps.Keys(s.membersByName())))
	fmt.Fprintln(&b, s.agent)
	fmt.Fprintln(&b, s.promiseChecks.busy, s.promiseChecks.begun, s.promiseChecks.moves)
	for _, c := range s.clients {
		fmt.Fprintln(&b, c.asks != nil, c.answered, c.err)
	}
	for _, p := range s.processes {
		fmt.Fprintln(&b, p.name, p.dead, p.history, p.seen)
		if p.session != nil {
			for _, m := range p.session.heard {
				fmt.Fprint(&b, s.names[m.ID], " ")
			}
		}
	}
	for _, w := range s.records.watches {
		if !w.by.dead && pointed(w.kind) {
			fmt.Fprint(&b, w.by.name, w.kind, w.lags, w.skips)
			for _, change := range w.queue {
				fmt.Fprint(&b, " ", s.names[change.Record.ID], change.Record.Revision, change.Synced)
			}
		}
	}
	var calls []string
	for _, c := range s.pending {
		if !c.by.dead || c.left {
			calls = append(calls, fmt.Sprint(c.by.name, c.name, s.canonical(c.argument), c.left))
		}
	}
	slices.Sort(calls)
	fmt.Fprintln(&b, calls)
	return xxhash.Sum64String(b.String())
}

func (s *scheduleRun) membersByName() map[string]bool {
	names := map[string]bool{}
	for id := range s.members {
		names[s.names[id]] = true
	}
	return names
}

// CheckEnd checks the promises of a state in which nothing is left that could happen.
func (s *scheduleRun) CheckEnd() {
	for _, r := range s.records.of(conductor.KindNode) {
		if reason := s.unfinished(r); reason != "" && s.serves() && !s.broken.deletions {
			s.failf("the node waits for nobody: %s", reason)
		}
	}
	for _, kind := range []conductor.Kind{conductor.KindAllocation, "calls"} {
		for _, r := range s.records.of(kind) {
			if s.serves() && (kind == "calls" || strings.Contains(string(r.Value), `"state":"allocating"`)) {
				s.failf("%s waits for nobody", s.nameOf(kind, r.ID))
			}
		}
	}
	for i, c := range s.clients {
		if c.asks != nil && !c.answered && !c.asks.dead {
			s.failf("client %d has no answer", i+1)
		}
	}
	nodes := s.records.of(conductor.KindNode)
	if s.broken.forgetful && (!s.broken.deletions || len(nodes) > 0) {
		return // an index without a change is not what the search is for
	}
	for _, w := range s.records.watches {
		if w.kind == conductor.KindNode && !w.by.dead && !w.lags && len(w.queue) == 0 {
			s.indexed(w.by.name, w.by.conductor, nodes)
		}
	}
}

// serves reports whether a process is left that could work on the node.
func (s *scheduleRun) serves() bool {
	return slices.ContainsFunc(s.processes, func(p *scheduleProcess) bool { return !p.dead && p.name != s.scenario.lacking })
}

// Ending returns what is left at the end of a schedule, for people.
func (s *scheduleRun) Ending() string {
	var b strings.Builder
	for _, kind := range []conductor.Kind{conductor.KindNode, conductor.KindAllocation, "calls"} {
		for _, r := range s.records.of(kind) {
			fmt.Fprintln(&b, s.canonical(r))
		}
	}
	for _, c := range s.clients {
		fmt.Fprintln(&b, c.asks != nil, c.answered, c.err)
	}
	return b.String()
}
