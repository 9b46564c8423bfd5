package powersync

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// This file handles a record in a sync round, from the store's list to the event.

// maxReloads is how often a round loads a node whose record keeps changing.
const maxReloads = 4

// syncAll handles all nodes in a round: first those that could not be released, then
// those with the most failures, then the others.
func (s *Syncer) syncAll(ctx context.Context) (map[Outcome]int, error) {
	p := s.newPool(ctx, syncRound, s.syncNode)
	first := append(s.holds.unsaved(), s.syncFailures.byCount()...)
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
		if r.Reservation == s.config.Name {
			return !done, "" // the reservation may be one to reclaim
		}
		return !done, SkipSync(r)
	})
	return p.finish(), err
}

// A pool is the worker pool of one round and its queue.
type pool struct {
	s       *Syncer
	kind    kind
	ctx     context.Context
	do      func(ctx context.Context, id string) Event
	queue   chan string
	started int // number of workers
	workers sync.WaitGroup

	mu     sync.Mutex
	counts map[Outcome]int
}

// newPool makes a pool that calls do for each node.
func (s *Syncer) newPool(ctx context.Context, kind kind, do func(context.Context, string) Event) *pool {
	// Workers need not wait for the goroutine that fills the queue.
	return &pool{s: s, kind: kind, ctx: ctx, do: do, queue: make(chan string, min(s.config.Workers, 1024)), counts: make(map[Outcome]int)}
}

// list queues the nodes of the store that which selects, and counts those for which
// which returns an outcome.
func (p *pool) list(which func(Record) (wanted bool, skip Outcome)) error {
	return p.s.store.each(p.ctx, string(p.kind), func(r Record, err error) bool {
		switch wanted, skip := which(r); {
		case err != nil:
			p.count(p.s.emit(p.ctx, Event{ID: r.ID, Outcome: StoreFailed, Err: err}))
		case wanted && skip != "":
			p.count(p.s.emit(p.ctx, Event{ID: r.ID, Outcome: skip}))
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
			p.count(p.s.emit(p.ctx, p.do(p.ctx, id)))
			runtime.Gosched() // with a driver that answers at once, a worker would keep a processor for long
		case <-p.ctx.Done():
		}
	}
}

func (p *pool) count(e Event) {
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

// syncNode handles one node in a round.
func (s *Syncer) syncNode(ctx context.Context, id string) Event {
	if until := s.syncFailures.of(id).until; !until.IsZero() && time.Now().Before(until) {
		return Event{ID: id, Outcome: SkippedBackoff}
	}
	for reload := range maxReloads {
		if e := s.syncOnce(ctx, id, reload > 0); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: SkippedChanged}
}

// syncOnce handles a node; its outcome is conflict if the record changes meanwhile.
func (s *Syncer) syncOnce(ctx context.Context, id string, reloaded bool) Event {
	r, err := s.loadFree(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	past, policy := s.syncFailures.of(id).Failures, s.config.Policy
	if skip := SkipSync(r); skip != "" {
		if reloaded {
			_, a := Decide(r, Reading{}, past, policy)
			s.keep(&s.syncFailures, a)
		}
		return Event{ID: id, Outcome: skip, Recorded: r.Power}
	}
	reading := s.read(ctx, id, r.Power == states.NoPower)
	after, a := Decide(r, reading, past, policy)
	if a.Outcome == Forced && s.config.CanForce != nil {
		can, err := callDriver(ctx, s, id, func(context.Context) (bool, error) { return s.config.CanForce(id), nil })
		switch {
		case err != nil:
			after, a.Event = r, a.notAsked(ForceFailed, err)
		case !can:
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
	s.keep(&s.syncFailures, a)
	return a.Event
}

// force sets the hardware to the recorded power state, holding the node. The attempt
// counts if the outcome is Forced or ForceFailed.
func (s *Syncer) force(ctx context.Context, r, held Record, a Action) Action {
	if !s.holds.claim(r.ID) {
		a.Event = a.notAsked(SkippedReservation, nil)
		return a
	}
	undo, ok := s.limit.take(time.Now())
	if !ok {
		s.holds.drop(r.ID)
		a.Event = a.notAsked(ForceHeldBack, nil)
		return a
	}
	if err := s.reserve(ctx, r, held); err != nil {
		undo()
		a.Event = s.storeFailed(ctx, a.notAsked(StoreFailed, err), err)
		return a
	}
	err := s.setPower(ctx, r.ID, a.Asked)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	e, settled := a.Event, settle(func(now Record) (Record, Event) {
		after, a := Settle(now, a, err)
		return after, a.Event
	})
	switch {
	case err != nil && ctx.Err() != nil:
		e = a.as(Interrupted, err)
		settled = func(now Record) (Record, Event) {
			after, _ := Settle(now, a, nil)
			return after, e
		}
	case err != nil:
		e = a.as(ForceFailed, err)
	}
	e, err = s.release(ctx, e, settled)
	if err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	a.Event, a.Failures = e, a.Failures.failed(e)
	return a
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
