// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// maxReloads is how often a node is loaded whose record keeps changing.
const maxReloads = 4

// syncAll handles all nodes in a round: first those that could not be released, then
// those with the most failures, then the others.
func (s *Syncer) syncAll(ctx context.Context) (map[Outcome]int, error) {
	p := s.newPool(ctx, syncRound, &s.syncFailures, s.handler.Sync)
	for _, id := range append(s.reserved.unsaved(), s.syncFailures.byCount()...) {
		if !p.first[id] {
			p.first[id] = true
			p.enqueue(id)
		}
	}
	_, err := p.list(func(r Record) (wanted bool, skip Outcome) {
		if s.reserved.own(r) { // it may be one to reclaim
			return true, ""
		}
		return true, SkipSync(r)
	})
	return p.finish(), err
}

// recoverAll handles all nodes in maintenance with a power failure.
func (s *Syncer) recoverAll(ctx context.Context) (map[Outcome]int, error) {
	p := s.newPool(ctx, recoveryRound, &s.recoveryFailures, s.handler.Recover)
	listed := make(map[string]bool)
	complete, err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = SkipRecovery(r)
		if skip == SkippedEnroll || skip == SkippedNoPowerFailure {
			return false, ""
		}
		listed[r.ID] = true
		return true, skip
	})
	if complete {
		s.recoveryFailures.retain(listed) // the others were deleted, or have left maintenance
	}
	return p.finish(), err
}

// handle is Sync or Recover of a [Handler].
type handle func(ctx context.Context, id string, past Failures) (Action, error)

// A pool is the worker pool of one round and its queue.
type pool struct {
	s        *Syncer
	kind     kind
	ctx      context.Context
	failures *failingNodes
	handle   handle
	first    map[string]bool // nodes that are queued before the list
	queue    chan string
	started  int // number of workers
	workers  sync.WaitGroup

	mu     sync.Mutex
	counts map[Outcome]int
}

func (s *Syncer) newPool(ctx context.Context, kind kind, f *failingNodes, handle handle) *pool {
	// Workers need not wait for the goroutine that fills the queue.
	queue := make(chan string, min(s.config.Workers, 1024))
	return &pool{
		s: s, kind: kind, ctx: ctx, failures: f, handle: handle,
		first: make(map[string]bool), queue: queue, counts: make(map[Outcome]int),
	}
}

// list queues the nodes of the store that choose wants, and counts those for which choose returns an outcome. It leaves
// out the nodes that are queued already. The list is incomplete if the store yields an error, even one for a single
// record, or the context has ended.
func (p *pool) list(choose func(Record) (wanted bool, skip Outcome)) (complete bool, err error) {
	failed := false
	err = p.s.lists.each(p.ctx, string(p.kind), p.s.handler.Records, func(r Record, err error) bool {
		failed = failed || err != nil
		switch wanted, skip := choose(r); {
		case p.first[r.ID]:
		case err != nil:
			p.done(Event{ID: r.ID, Outcome: StoreFailed, Err: err})
		case wanted && skip != "":
			p.done(Event{ID: r.ID, Outcome: skip})
		case wanted:
			return p.enqueue(r.ID)
		}
		return p.ctx.Err() == nil
	})
	return !failed && err == nil && p.ctx.Err() == nil, err
}

// enqueue queues a node, and starts another worker unless the pool is full. It returns
// false if the context has ended.
func (p *pool) enqueue(id string) bool {
	if p.ctx.Err() != nil {
		return false
	}
	if p.started < p.s.config.Workers {
		p.started++
		p.startWorker()
	}
	select {
	case p.queue <- id:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *pool) startWorker() {
	p.workers.Add(1)
	go p.work()
}

// work handles queued nodes. If the Handler ends the goroutine, the node has failed and another worker goes on.
func (p *pool) work() {
	defer p.workers.Done()
	var id string
	handling := false
	defer func() {
		if handling {
			p.done(p.storeFailed(Event{ID: id}, &machine.PanicError{}))
			p.startWorker()
		}
	}()
	for p.ctx.Err() == nil {
		var ok bool
		select {
		case id, ok = <-p.queue:
			if !ok {
				return
			}
			handling = true
			e := p.node(id)
			handling = false
			p.done(e)
			runtime.Gosched() // with a driver that answers at once, a worker would keep a processor for long
		case <-p.ctx.Done():
		}
	}
}

// node handles one node.
func (p *pool) node(id string) Event {
	past := p.failures.of(id)
	if time.Now().Before(past.until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for reload := range maxReloads {
		a, err := p.handled(id, past.Failures)
		a.ID = id
		if reload == 0 && excluded(a.Outcome) {
			a.Failures = past.Failures
		}
		switch {
		case errors.Is(err, ErrConflict):
			continue
		case err != nil:
			return p.storeFailed(a.Event, err)
		case a.Failures.Count != past.Count:
			p.failures.keep(a, past.Failures)
		case a.Failures.LastError != past.LastError: // no new attempt failed
			p.failures.noteError(id, a.Failures.LastError)
		}
		if a.Outcome == IntoMaintenance || a.Outcome == Recovered {
			p.s.recoveryFailures.forget(id)
		}
		if a.Outcome == Recovered {
			p.s.syncFailures.endCount(id)
		}
		return a.Event
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

// excluded reports whether the provision state or maintenance of a node is the reason why a round skips it. Ironic
// keeps the failures of a node that it skips before it has read the hardware. It forgets them if the node was excluded
// while the hardware was read, which here shows as a conflict and another load. [Decide] always forgets them.
//
// Source: _sync_power_state_nodes_task and do_sync_power_state in ironic/conductor/manager.py.
func excluded(o Outcome) bool {
	for _, skipped := range skippedStates {
		if o == skipped {
			return true
		}
	}
	return o == SkippedMaintenance
}

// handled calls the Handler and returns its panic as an error.
func (p *pool) handled(id string, past Failures) (a Action, err error) {
	defer func() {
		if value := recover(); value != nil {
			a, err = Action{}, &machine.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return p.handle(p.ctx, id, past)
}

// storeFailed returns the event of a node that was left unchanged because of an error of the store.
func (p *pool) storeFailed(e Event, err error) Event {
	e.Asked, e.LastError, e.ClearedError = states.NoPower, "", ""
	switch {
	case errors.Is(err, ErrNotFound):
		p.s.syncFailures.forget(e.ID)
		p.s.recoveryFailures.forget(e.ID)
		return e.as(SkippedDeleted, nil)
	case p.ctx.Err() != nil:
		return e.as(Interrupted, err)
	default:
		return e.as(StoreFailed, err)
	}
}

// done reports and counts the outcome of a node.
func (p *pool) done(e Event) {
	p.s.reporter.emit(p.ctx, e)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[e.Outcome]++
}

// finish waits for the workers and returns the counts of the outcomes.
func (p *pool) finish() map[Outcome]int {
	close(p.queue)
	p.workers.Wait()
	return p.counts
}
