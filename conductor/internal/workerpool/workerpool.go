// SPDX-License-Identifier: Apache-2.0

// Package workerpool bounds how many goroutines of a process work, and has one of them at a time work on a thing.
package workerpool

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The errors of Take.
var (
	ErrClosed = errors.New("the worker pool is closed")
	ErrFull   = errors.New("all workers are busy")
	ErrTaken  = errors.New("another goroutine has the UUID") // until the end of the context
)

// Pool is a pool of workers. What works on a thing, such as a node, first takes its UUID, and frees it at the end. The
// pool guarantees that one goroutine at a time has a UUID, and that at most limit of them are workers. The reserved
// workers do no spare work. A Pool is safe for concurrent use.
type Pool struct {
	limit, reserved int

	mu      sync.Mutex
	taken   map[string]taken // by UUID
	workers int              // the number of those that are workers
	closed  bool
	idle    chan struct{} // closed when nothing is taken after Close
}

// taken is a UUID that a goroutine has.
type taken struct {
	over     chan struct{} // closed when the UUID is free
	byWorker bool
}

// New returns a pool of limit workers.
func New(limit, reserved int) *Pool {
	return &Pool{limit: limit, reserved: reserved, taken: map[string]taken{}, idle: make(chan struct{})}
}

// Take takes a UUID for a worker. If another goroutine has it, Take waits until it is free. The error is ErrFull if no
// worker is free, ErrClosed after Close, and ErrTaken if the context ends.
func (p *Pool) Take(ctx context.Context, id string) error {
	for {
		p.mu.Lock()
		other, busy := p.taken[id]
		var err error
		switch {
		case p.closed:
			err = ErrClosed
		case busy:
		case p.workers >= p.limit:
			err = ErrFull
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
			return ErrTaken
		}
	}
}

// add adds a UUID that is free. The caller holds the lock.
func (p *Pool) add(id string, byWorker bool) {
	p.taken[id] = taken{make(chan struct{}), byWorker}
	if byWorker {
		p.workers++
	}
}

// TryTake is Take without waiting. It reports whether it has taken the UUID.
func (p *Pool) TryTake(id string) bool { return p.tryTakeOf(p.limit, id) }

// TryTakeSpare is TryTake for spare work.
func (p *Pool) TryTakeSpare(id string) bool { return p.tryTakeOf(p.limit-p.reserved, id) }

func (p *Pool) tryTakeOf(limit int, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.taken[id]; busy || p.closed || p.workers >= limit {
		return false
	}
	p.add(id, true)
	return true
}

// TryHold takes a UUID without a worker, so that no work begins on it. It reports whether it has taken the UUID.
func (p *Pool) TryHold(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.taken[id]; busy || p.closed {
		return false
	}
	p.add(id, false)
	return true
}

// Free frees a UUID, and the worker that has taken it.
func (p *Pool) Free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.taken[id].over)
	if p.taken[id].byWorker {
		p.workers--
	}
	delete(p.taken, id)
	p.checkIdle()
}

// Busy returns the number of busy workers.
func (p *Pool) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

func (p *Pool) checkIdle() {
	if p.closed && len(p.taken) == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

// Close refuses new work and waits until nothing is taken. After the timeout it calls stop, which must
// cancel the work, and continues to wait.
func (p *Pool) Close(timeout time.Duration, stop func()) {
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
