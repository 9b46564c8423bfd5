// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// maxReloads is how often a round loads a node whose record keeps changing.
const maxReloads = 4

// syncAll handles all nodes in a round: first those that could not be released, then
// those with the most failures, then the others.
func (s *Syncer) syncAll(ctx context.Context) (map[Outcome]int, error) {
	handle := s.syncNode
	if s.config.Handler != nil {
		handle = s.handled(&s.syncFailures, s.config.Handler.Sync)
	}
	p := s.newPool(ctx, syncRound, &s.syncFailures, handle)
	first := append(s.reservations.unsaved(), s.syncFailures.byCount()...)
	queued := make(map[string]struct{}, len(first))
	for _, id := range first {
		if _, twice := queued[id]; twice {
			continue
		}
		queued[id] = struct{}{}
		p.enqueue(id)
	}
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		_, done := queued[r.ID]
		if r.Reservation == s.config.Name && s.config.Handler == nil {
			return !done, "" // the reservation may be one to reclaim
		}
		return !done, SkipSync(r)
	})
	return p.finish(), err
}

// recoverAll handles all nodes in maintenance with a power failure.
func (s *Syncer) recoverAll(ctx context.Context) (map[Outcome]int, error) {
	handle := s.recoverNode
	if s.config.Handler != nil {
		handle = s.handled(&s.recoveryFailures, s.config.Handler.Recover)
	}
	p := s.newPool(ctx, recoveryRound, &s.recoveryFailures, handle)
	err := p.list(func(r Record) (wanted bool, skip Outcome) {
		skip = SkipRecovery(r)
		return skip != SkippedEnroll && skip != SkippedNoPowerFailure, skip
	})
	return p.finish(), err
}

// syncNode handles a node in a sync round; its outcome is conflict if the record has changed
// since it was loaded.
func (s *Syncer) syncNode(ctx context.Context, id string, reloaded bool) Event {
	r, err := s.reservations.loadFree(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	past, policy := s.syncFailures.of(id).Failures, s.config.Policy
	if skip := SkipSync(r); skip != "" {
		if _, a := Decide(r, Reading{}, past, policy); reloaded && a.Failures != past {
			s.syncFailures.keep(a)
		}
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	reading := s.driver.read(ctx, id, r.Power == states.NoPower)
	after, a := Decide(r, reading, past, policy)
	if a.Outcome == Forced {
		switch forces, err := s.driver.forces(ctx, id); {
		case err != nil:
			after, a.Event = r, a.notAsked(ForceFailed, err)
		case !forces:
			policy.RecordOnly = true
			after, a = Decide(r, reading, past, policy)
		}
	}
	switch {
	case a.Err != nil && ctx.Err() != nil:
		return a.as(Interrupted, a.Err)
	case a.Outcome == Forced:
		if a = s.force(ctx, r, after, a); a.Outcome != Forced && a.Outcome != ForceFailed {
			return a.Event
		}
	case after != r:
		if err := s.store.update(ctx, after); err != nil {
			a.LastError, a.ClearedError = "", ""
			return s.storeFailed(ctx, a.Event, err)
		}
	}
	if a.Outcome == IntoMaintenance {
		s.recoveryFailures.forget(id)
	}
	s.syncFailures.keep(a)
	return a.Event
}

// force sets the hardware to the recorded power state, with the node reserved. The attempt
// counts if the outcome is Forced or ForceFailed.
func (s *Syncer) force(ctx context.Context, r, reserved Record, a Action) Action {
	if !s.reservations.claim(r.ID) {
		a.Event = a.notAsked(SkippedReservation, nil)
		return a
	}
	undo, ok := s.limit.take(time.Now())
	if !ok {
		s.reservations.drop(r.ID)
		a.Event = a.notAsked(ForceLimited, nil)
		return a
	}
	if err := s.reservations.reserve(ctx, r, reserved); err != nil {
		undo()
		a.Event = s.storeFailed(ctx, a.notAsked(StoreFailed, err), err)
		return a
	}
	err := s.driver.set(ctx, r.ID, a.Asked)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	forced := a // settle may be called later
	unsaved, settle := a.Event, func(now Record) (Record, Event) {
		after, settled := Settle(now, forced, err)
		return after, settled.Event
	}
	switch {
	case err != nil && ctx.Err() != nil:
		unsaved = a.as(Interrupted, err)
		settle = func(now Record) (Record, Event) { return now.released(), unsaved }
	case err != nil:
		unsaved = a.as(ForceFailed, err)
	}
	e, notSaved := s.reservations.release(ctx, unsaved, settle)
	if notSaved != nil {
		e.Err = errors.Join(e.Err, notSaved)
	}
	a.Event, a.Failures = e, a.Failures.failed(e)
	return a
}

// recoverNode handles a node in a recovery round; its outcome is conflict if the record
// has changed since it was loaded.
func (s *Syncer) recoverNode(ctx context.Context, id string, _ bool) Event {
	r, err := s.store.load(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	if skip := SkipRecovery(r); skip != "" {
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	after, a := DecideRecovery(r, s.driver.read(ctx, id, true), s.recoveryFailures.of(id).Failures)
	if a.Err != nil && ctx.Err() != nil {
		return a.as(Interrupted, a.Err)
	}
	if after != r {
		if err := s.store.update(ctx, after); err != nil {
			return s.storeFailed(ctx, a.Event, err)
		}
	}
	s.recoveryFailures.keep(a)
	return a.Event
}

// storeFailed returns the event with the outcome that corresponds to a store's error.
func (s *Syncer) storeFailed(ctx context.Context, e Event, err error) Event {
	switch {
	case errors.Is(err, ErrConflict):
		return e.as(conflict, nil)
	case errors.Is(err, ErrNotFound):
		s.syncFailures.forget(e.ID)
		s.recoveryFailures.forget(e.ID)
		return e.as(SkippedDeleted, nil)
	case ctx.Err() != nil:
		return e.as(Interrupted, err)
	default:
		return e.as(StoreFailed, err)
	}
}

// A pool is the worker pool of one round and its queue.
type pool struct {
	s        *Syncer
	kind     kind
	ctx      context.Context
	failures *failures
	handle   func(ctx context.Context, id string, reloaded bool) Event
	queue    chan string
	started  int // number of workers
	workers  sync.WaitGroup

	mu     sync.Mutex
	counts map[Outcome]int
}

// newPool makes a pool that calls handle for each node, again if the outcome is
// conflict.
func (s *Syncer) newPool(ctx context.Context, kind kind, f *failures, handle func(context.Context, string, bool) Event) *pool {
	// Workers need not wait for the goroutine that fills the queue.
	queue := make(chan string, min(s.config.Workers, 1024))
	return &pool{s: s, kind: kind, ctx: ctx, failures: f, handle: handle, queue: queue, counts: make(map[Outcome]int)}
}

// list queues the nodes of the store that which selects, and counts those for which
// which returns an outcome.
func (p *pool) list(which func(Record) (wanted bool, skip Outcome)) error {
	return p.s.store.each(p.ctx, string(p.kind), func(r Record, err error) bool {
		switch wanted, skip := which(r); {
		case err != nil:
			p.done(Event{ID: r.ID, Outcome: StoreFailed, Err: err})
		case wanted && skip != "":
			p.done(Event{ID: r.ID, Outcome: skip})
		case wanted:
			return p.enqueue(r.ID)
		}
		return p.ctx.Err() == nil
	})
}

// enqueue queues a node, and starts another worker unless the pool is full. It returns
// false if the context has ended.
func (p *pool) enqueue(id string) bool {
	if p.ctx.Err() != nil {
		return false
	}
	if p.started < p.s.config.Workers {
		p.started++
		p.workers.Add(1)
		go func() {
			defer p.workers.Done()
			p.work()
		}()
	}
	select {
	case p.queue <- id:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *pool) work() {
	for p.ctx.Err() == nil {
		select {
		case id, ok := <-p.queue:
			if !ok {
				return
			}
			p.done(p.node(id))
			runtime.Gosched() // with a driver that answers at once, a worker would keep a processor for long
		case <-p.ctx.Done():
		}
	}
}

// node handles one node.
func (p *pool) node(id string) Event {
	if time.Now().Before(p.failures.of(id).until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for reload := range maxReloads {
		if e := p.handle(p.ctx, id, reload > 0); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
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

// forceLimit bounds how often hardware is set within any minute.
type forceLimit struct {
	most int // 0 is unlimited

	mu    sync.Mutex
	times []time.Time // within the last minute, the oldest first
}

// take reports whether hardware may be set once more, and counts that if so. If the
// hardware was not set after all, the caller calls undo.
func (l *forceLimit) take(now time.Time) (undo func(), ok bool) {
	if l.most == 0 {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = slices.DeleteFunc(l.times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(l.times) >= l.most {
		return nil, false
	}
	l.times = append(l.times, now)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.times, now); i >= 0 {
			l.times = slices.Delete(l.times, i, i+1)
		}
	}, true
}
