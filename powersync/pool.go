// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"context"
	"runtime"
	"sync"
	"time"
)

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
