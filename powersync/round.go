package powersync

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/errtext"
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
		return Event{ID: id, Outcome: skippedBackoff}
	}
	for reload := range maxReloads {
		if e := s.syncOnce(ctx, id, reload > 0); e.Outcome != conflict {
			return e
		}
	}
	return Event{ID: id, Outcome: skippedChanged}
}

// syncOnce handles a node; its outcome is conflict if the record changes meanwhile. A
// node that is to be skipped keeps its count. The count is reset if only the reloaded
// record is to be skipped, unless somebody works on the node.
func (s *Syncer) syncOnce(ctx context.Context, id string, reloaded bool) Event {
	r, err := s.loadFree(ctx, id)
	if err != nil {
		return s.storeFailed(ctx, Event{ID: id}, err)
	}
	skip := SkipSync(r)
	if skip == "" {
		return s.syncRecord(ctx, r)
	}
	if reloaded && r.busy() == "" {
		s.syncFailures.forget(id)
	}
	return Event{ID: id, Outcome: skip, Recorded: r.Power}
}

func (s *Syncer) syncRecord(ctx context.Context, r Record) Event {
	e := Event{ID: r.ID, Recorded: r.Power, Attempts: s.syncFailures.of(r.ID).count + 1}
	if r.Power == states.NoPower {
		if err := s.validate(ctx, r.ID); err != nil {
			if ctx.Err() != nil {
				return e.as(interrupted, err)
			}
			s.syncFailures.forget(r.ID)
			return e.as(skippedConfig, err)
		}
	}

	var err error
	e.Read, err = s.readPower(ctx, r.ID)
	last := e.Attempts > s.config.MaxRetries
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(interrupted, err)
	case errors.Is(err, errNothingRead) && r.Power == states.NoPower:
		return s.equal(ctx, r, e.as(Equal, nil))
	case err != nil && last:
		return s.toMaintenance(ctx, r, e.as(IntoMaintenance, err))
	case err != nil:
		return s.failed(e.as(ReadFailed, err))
	case e.Read == r.Power:
		return s.equal(ctx, r, e.as(Equal, nil))
	case r.Power == states.NoPower:
		r.Power = e.Read
		return s.succeeded(s.write(ctx, r, e.as(Recorded, nil)))
	case last:
		return s.toMaintenance(ctx, r, e.as(IntoMaintenance, nil))
	default:
		return s.differ(ctx, r, e)
	}
}

// equal clears a last error that a round stored, because it no longer applies. It keeps
// an error that others stored: power sync cannot know whether that still applies.
func (s *Syncer) equal(ctx context.Context, r Record, e Event) Event {
	if ours := s.syncFailures.of(r.ID).lastError; ours != "" && r.LastError == ours {
		e.setLastError(&r, "")
		e = s.write(ctx, r, e)
	}
	return s.succeeded(e)
}

// succeeded resets the failures of a node, unless its record could not be written.
func (s *Syncer) succeeded(e Event) Event {
	if e.Outcome == Equal || e.Outcome == Recorded {
		s.syncFailures.forget(e.ID)
	}
	return e
}

// failed records a failure of a node.
func (s *Syncer) failed(e Event) Event {
	s.noteFailure(&s.syncFailures, e)
	return e
}

// toMaintenance puts a node that failed too often into maintenance.
func (s *Syncer) toMaintenance(ctx context.Context, r Record, e Event) Event {
	why := fmt.Sprintf("power sync failed %d times in a row", e.Attempts)
	switch {
	case e.Err == nil:
		why += fmt.Sprintf(": recorded is %q, the hardware is in %q, which is recorded now", r.Power, e.Read)
		r.Power = e.Read
	case s.config.ForgetUnread:
		why += fmt.Sprintf(": the power state cannot be read, %q is recorded no longer: %v", r.Power, e.Err)
		r.Power = states.NoPower
	default:
		why += fmt.Sprintf(": the power state cannot be read: %v", e.Err)
	}
	r.Maintenance = true
	r.MaintenanceReason = errtext.Clean(why)
	r.Fault = FaultPowerFailure
	e.setLastError(&r, why)
	if e = s.write(ctx, r, e); e.Outcome == IntoMaintenance {
		s.recoveryFailures.forget(e.ID)
		return s.failed(e)
	}
	return e
}

// differ handles hardware that is not in the recorded power state.
func (s *Syncer) differ(ctx context.Context, r Record, e Event) Event {
	forces, err := s.forces(ctx, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return e.as(interrupted, err)
	case err != nil:
		e = e.as(ForceFailed, err)
	case forces:
		e = s.force(ctx, r, e)
	default:
		r.Power = e.Read
		e = s.write(ctx, r, e.as(Corrected, nil))
	}
	switch e.Outcome {
	case Corrected, Forced, ForceFailed:
		return s.failed(e)
	default:
		return e
	}
}

// forces reports whether hardware that differs is set.
func (s *Syncer) forces(ctx context.Context, r Record) (bool, error) {
	if s.config.RecordOnly || r.DisablePowerOff {
		return false, nil
	}
	if s.config.CanForce == nil {
		return true, nil
	}
	return callDriver(ctx, s, r.ID, func(context.Context) (bool, error) { return s.config.CanForce(r.ID), nil })
}

// force sets the hardware to the recorded power state, holding the node.
func (s *Syncer) force(ctx context.Context, r Record, e Event) Event {
	if !s.holds.claim(r.ID) {
		return e.as(skippedReservation, nil)
	}
	undo, ok := s.limit.take(time.Now())
	if !ok {
		s.holds.drop(r.ID)
		return e.as(forceHeld, nil)
	}
	held := r
	held.TargetPower = r.Power
	if err := s.reserve(ctx, r, held); err != nil {
		undo()
		return s.storeFailed(ctx, e, err)
	}
	e.Asked = r.Power
	err := s.setPower(ctx, r.ID, r.Power)
	if errors.Is(err, errNotCalled) {
		undo()
	}
	e = e.as(Forced, nil)
	edit := noEdit
	switch {
	case err != nil && ctx.Err() != nil:
		e = e.as(interrupted, err)
	case err != nil:
		e = e.as(ForceFailed, err)
		why := fmt.Sprintf("power sync could not set %q: %v", e.Asked, err)
		edit = func(r *Record, e *Event) { e.setLastError(r, why) }
	}
	e, err = s.release(ctx, e, edit)
	if err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	return e
}

// write stores a record and returns the event, or that of a failure of the store.
func (s *Syncer) write(ctx context.Context, r Record, e Event) Event {
	if err := s.store.update(ctx, r); err != nil {
		e.LastError, e.ClearedError = "", ""
		return s.storeFailed(ctx, e, err)
	}
	return e
}

// storeFailed returns the event with the outcome that corresponds to a store's error.
func (s *Syncer) storeFailed(ctx context.Context, e Event, err error) Event {
	switch {
	case errors.Is(err, ErrConflict):
		return e.as(conflict, nil)
	case errors.Is(err, ErrNotFound):
		s.syncFailures.forget(e.ID)
		s.recoveryFailures.forget(e.ID)
		return e.as(skippedGone, nil)
	case ctx.Err() != nil:
		return e.as(interrupted, err)
	default:
		return e.as(StoreFailed, err)
	}
}
