package conductor

import (
	"context"
	"time"
)

// check visits all nodes, allocations and calls every CheckInterval until the context ends.
func (c *Conductor) check(ctx context.Context) {
	ticker := time.NewTicker(c.config.CheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		c.considerAll()
	}
}

// considerAll considers all indexed nodes, allocations and calls.
func (c *Conductor) considerAll() {
	for _, n := range c.fleet.nodes.all() {
		c.consider(n)
	}
	for _, kind := range c.pendingKinds() {
		for _, o := range c.fleet.of(kind).all() {
			c.considerObject(o)
		}
	}
}

// pendingKinds returns the kinds of the objects that a conductor processes.
func (b *rulebook) pendingKinds() []Kind {
	if b.config.alone() {
		return []Kind{KindAllocation}
	}
	return []Kind{KindAllocation, kindCall}
}

// considerObject processes an allocation, or a call of another conductor, that is pending. It is
// called for each object that any process writes, and at each check.
func (c *Conductor) considerObject(o Object) {
	switch o := o.(type) {
	case *Allocation:
		allocator{c.engine}.consider(o)
	case *callRecord:
		if t, err := c.currentSession(); err == nil {
			c.calls.consider(t, o)
		}
	}
}
