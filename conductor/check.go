package conductor

import (
	"context"
	"time"
)

// check visits all nodes and allocations every CheckInterval until the context ends.
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
	for _, o := range c.fleet.of(KindAllocation).all() {
		c.considerObject(o)
	}
	if c.config.alone() {
		return
	}
	for _, o := range c.fleet.of(kindCall).all() {
		c.considerObject(o)
	}
}
