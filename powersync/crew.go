package powersync

import (
	"context"
	"sync"
)

// crew is the workers of one round and what the one who gives them work has to
// know. Its methods are for one goroutine, but for work.
type crew struct {
	s       *Syncer
	ctx     context.Context
	look    look
	workers int // started so far
	jobs    chan job
	wait    sync.WaitGroup

	mu     sync.Mutex
	counts Counts

	networks // used with Config.Network
}

// look looks at one node.
type look func(ctx context.Context, c *caller, id string) Event

type job struct{ id, network string }

func (s *Syncer) newCrew(ctx context.Context, l look) *crew {
	c := &crew{s: s, ctx: ctx, look: l, jobs: make(chan job, buffered(s.config.Workers))}
	if s.config.PerNetwork > 0 {
		c.networks = newNetworks(&s.config)
	}
	return c
}

// buffered returns how many jobs may lie ready, so that workers need not wait for
// the one who gives them out.
func buffered(workers int) int { return min(workers, 1024) }

// list gives out the nodes of the store that which says are wanted, or counts
// them where it has an outcome for them already.
func (c *crew) list(which func(Record) (wanted bool, o Outcome)) error {
	err := c.s.store.each(c.ctx, func(r Record, err error) bool {
		if err != nil {
			c.count(Event{ID: r.ID, Outcome: StoreFailed, Err: err})
			return c.ctx.Err() == nil
		}
		wanted, o := which(r)
		switch {
		case !wanted:
			return c.ctx.Err() == nil
		case o != NoOutcome:
			c.count(Event{ID: r.ID, Outcome: o})
			return c.ctx.Err() == nil
		default:
			return c.give(r.ID)
		}
	})
	for c.held > 0 && c.awaitNetwork() {
	}
	return err
}

func (c *crew) count(e Event) {
	c.s.tell(c.ctx, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.n[e.Outcome]++
}

// give has a node looked at, or held until its network has room. It returns
// false when the context has ended.
func (c *crew) give(id string) bool {
	if c.done == nil {
		return c.send(job{id: id})
	}
	if j, ok := c.admit(id); ok && !c.send(j) {
		return false
	}
	for c.held > c.most {
		if !c.awaitNetwork() {
			return false
		}
	}
	return c.sendReady()
}

func (c *crew) send(j job) bool {
	if c.ctx.Err() != nil {
		return false
	}
	if c.workers < c.s.config.Workers {
		c.workers++
		c.wait.Add(1)
		go func() {
			defer c.wait.Done()
			c.work(j)
		}()
		return true
	}
	for {
		select {
		case c.jobs <- j:
			return true
		case left := <-c.done:
			c.leave(left)
		case <-c.ctx.Done():
			return false
		}
	}
}

func (c *crew) sendReady() bool {
	for len(c.ready) > 0 {
		j := c.ready[0]
		c.ready = c.ready[1:]
		if !c.send(j) {
			return false
		}
	}
	return true
}

// awaitNetwork waits until a network has room, and fills it.
func (c *crew) awaitNetwork() bool {
	select {
	case left := <-c.done:
		c.leave(left)
		return c.sendReady()
	case <-c.ctx.Done():
		return false
	}
}

// finish waits for the workers and returns what became of the nodes.
func (c *crew) finish() Counts {
	close(c.jobs)
	if c.done != nil {
		close(c.closed)
	}
	c.wait.Wait()
	return c.counts
}

// work is a worker: it begins with one job and goes on with others.
func (c *crew) work(j job) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	caller := c.s.newCaller(ctx)
	defer caller.close()

	var counts Counts
	for ok := true; ok && ctx.Err() == nil; j, ok = <-c.jobs {
		e := c.look(ctx, caller, j.id)
		c.s.tell(ctx, e)
		counts.n[e.Outcome]++
		if c.done != nil {
			c.report(j)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for o, n := range counts.n {
		c.counts.n[o] += n
	}
}
