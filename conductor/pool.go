// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

// errShutdown is the cause of cancelled and refused work when the conductor stops.
var errShutdown = errors.New("the conductor was stopped")

// reservedSince is the first series in which a part of the worker pool is kept for requests.
//
// Source: the release note reserved-workers-3cc0af8782b00fcc of Ironic 24.1.0.
const reservedSince = states.Caracal

// reservedWorkers returns how many workers agents and power syncs may not use.
//
// Source: _init_executors in ironic/conductor/base_manager.py.
func (c *Config) reservedWorkers() int {
	if c.Table.Series() < reservedSince {
		return 0
	}
	return c.Workers * max(c.ReservedWorkers, 0) / 100
}

// workerPool is the conductor's worker pool. What works on a node, on an allocation or on a node's objects first takes
// its UUID, and frees it at the end. The pool guarantees that in this process one goroutine at a time has a UUID, and
// that at most limit of them are workers. The reserved workers do no spare work: heartbeats of agents, which may hang,
// and power syncs. That no other process works on the same node is guaranteed by the node's reservation, not here. The
// pool is safe for concurrent use.
type workerPool struct {
	limit, reserved int

	mu      sync.Mutex
	taken   map[string]taken // by UUID
	workers int              // the number of those that are workers
	closed  bool
	idle    chan struct{} // closed when nothing is taken after close
}

// taken is a UUID that a goroutine has.
type taken struct {
	over     chan struct{} // closed when the UUID is free
	byWorker bool
}

func newWorkerPool(limit, reserved int) *workerPool {
	return &workerPool{limit: limit, reserved: reserved, taken: map[string]taken{}, idle: make(chan struct{})}
}

// take takes the UUID of a node for a worker. If another goroutine has it, take waits until it is free, because the
// node's record shows the end of the work shortly before. The error matches [NoWorker] if no worker is free or the
// conductor stops, and [Locked] if the context ends.
func (p *workerPool) take(ctx context.Context, id string) error {
	for {
		p.mu.Lock()
		other, busy := p.taken[id]
		var err error
		switch {
		case p.closed:
			err = refuse(NoWorker, "no worker is free: %v", errShutdown)
		case busy:
		case p.workers >= p.limit:
			err = refuse(NoWorker, "no worker is free: all %d are busy", p.workers)
		default:
			p.add(id, true)
		}
		p.mu.Unlock()
		if err != nil || !busy {
			return err
		}
		select {
		case <-other.over:
		case <-ctx.Done():
			return refuse(Locked, "node %s is locked: a worker is busy with it", id)
		}
	}
}

// add adds a UUID that is free. The caller holds the lock.
func (p *workerPool) add(id string, byWorker bool) {
	p.taken[id] = taken{make(chan struct{}), byWorker}
	if byWorker {
		p.workers++
	}
}

// tryTake is take without waiting. It reports whether it has taken the UUID.
func (p *workerPool) tryTake(id string) bool { return p.tryTakeOf(p.limit, id) }

// tryTakeSpare is tryTake for spare work.
func (p *workerPool) tryTakeSpare(id string) bool { return p.tryTakeOf(p.limit-p.reserved, id) }

func (p *workerPool) tryTakeOf(limit int, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.taken[id]; busy || p.closed || p.workers >= limit {
		return false
	}
	p.add(id, true)
	return true
}

// tryHold takes a UUID without a worker, so that no work begins on it. It reports whether it has taken the UUID.
func (p *workerPool) tryHold(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.taken[id]; busy || p.closed {
		return false
	}
	p.add(id, false)
	return true
}

// free frees a UUID, and the worker that has taken it.
func (p *workerPool) free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.taken[id].over)
	if p.taken[id].byWorker {
		p.workers--
	}
	delete(p.taken, id)
	p.checkIdle()
}

// count returns the number of busy workers.
func (p *workerPool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

func (p *workerPool) checkIdle() {
	if p.closed && len(p.taken) == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

// close refuses new work and waits until nothing is taken. After the timeout it calls stop, which must
// cancel the work, and continues to wait.
func (p *workerPool) close(timeout time.Duration, stop func()) {
	p.mu.Lock()
	p.closed = true
	p.checkIdle()
	p.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.idle:
	case <-timer.C:
		stop()
		<-p.idle
	}
}
