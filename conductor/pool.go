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

// workerPool is the conductor's worker pool. It allows one worker per node and at most limit workers, of which the
// reserved ones are kept from spare work: heartbeats of agents, which may hang, and power syncs. It is safe for
// concurrent use.
type workerPool struct {
	limit, reserved int

	mu     sync.Mutex
	busy   map[string]chan struct{} // by node UUID; the channel is closed when the work ends
	closed bool
	idle   chan struct{} // closed when no worker is busy after close
}

func newWorkerPool(limit, reserved int) *workerPool {
	return &workerPool{limit: limit, reserved: reserved, busy: map[string]chan struct{}{}, idle: make(chan struct{})}
}

// take reserves a worker for a node. If the node has a worker already, take waits until that worker
// is free, because the node's record shows the end of the work shortly before. The error matches
// [NoWorker] if no worker is free or the conductor stops, and [Locked] if the context ends.
func (p *workerPool) take(ctx context.Context, id string) error {
	for {
		p.mu.Lock()
		over, busy := p.busy[id]
		var err error
		switch {
		case p.closed:
			err = refuse(NoWorker, "no worker is free: %v", errShutdown)
		case busy:
		case len(p.busy) >= p.limit:
			err = refuse(NoWorker, "no worker is free: all %d are busy", len(p.busy))
		default:
			p.busy[id] = make(chan struct{})
		}
		p.mu.Unlock()
		if err != nil || !busy {
			return err
		}
		select {
		case <-over:
		case <-ctx.Done():
			return refuse(Locked, "node %s is locked: a worker is busy with it", id)
		}
	}
}

// tryTake is take without waiting. It reports whether it has reserved a worker.
func (p *workerPool) tryTake(id string) bool { return p.tryTakeOf(p.limit, id) }

// tryTakeSpare is tryTake for spare work.
func (p *workerPool) tryTakeSpare(id string) bool { return p.tryTakeOf(p.limit-p.reserved, id) }

func (p *workerPool) tryTakeOf(limit int, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.busy[id]; busy || p.closed || len(p.busy) >= limit {
		return false
	}
	p.busy[id] = make(chan struct{})
	return true
}

// free releases a node's worker.
func (p *workerPool) free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.busy[id])
	delete(p.busy, id)
	p.checkIdle()
}

// count returns the number of busy workers.
func (p *workerPool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.busy)
}

func (p *workerPool) checkIdle() {
	if p.closed && len(p.busy) == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

// close refuses new work and waits until all workers are free. After the timeout it calls stop,
// which must cancel the work, and continues to wait.
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
