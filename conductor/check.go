package conductor

import (
	"context"
	"time"

	"github.com/ironstate/ironstate/states"
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
		nodes, err := c.Nodes(ctx)
		if err != nil {
			return // the context's
		}
		for _, n := range nodes {
			c.expire(ctx, n)
		}
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

// expire reports the work of a node as failed if the node has waited too long for a
// call-back. A rescue that timed out may have left the rescue ramdisk running, so that node
// is powered off first.
//
// Source: the periodic checks of ironic/conductor/manager.py, and
// cleanup_rescuewait_timeout in ironic/conductor/utils.py.
func (c *Conductor) expire(ctx context.Context, n *Node) {
	if _, ok := c.timedOut(n); !ok {
		return
	}
	if n.ProvisionState != states.RescueWait {
		c.reportTimeout(ctx, n.UUID, nil)
		return
	}
	c.run.group.Go(func() {
		err := c.exclusively(ctx, n.UUID, func(ctx context.Context, hardware Hardware, n *Node) error {
			return c.reachPower(ctx, hardware, n, states.PowerOff)
		})
		if err != nil {
			c.config.Log.Warn("a node whose rescue timed out could not be powered off", "node", n.UUID, "error", err)
			c.reportTimeout(ctx, n.UUID, nil)
			return
		}
		c.reportTimeout(ctx, n.UUID, func(n *Node) { n.powered(states.PowerOff) })
	})
}

func (c *Conductor) reportTimeout(ctx context.Context, id string, change func(*Node)) {
	before, n, err := c.fleet.edit(ctx, id, func(n *Node) error {
		text, ok := c.timedOut(n)
		if !ok {
			return errNothingToDo
		}
		if change != nil {
			change(n)
		}
		return c.fail(n, text)
	})
	if err == nil {
		c.moved(before, n)
		c.recordTimeout(ctx, before, n)
	}
}

func (c *Conductor) timedOut(n *Node) (text string, ok bool) {
	t, err := c.currentSession()
	if err != nil || n.Reservation != "" || n.ProvisionUpdatedAt == nil || !t.owns(n) || n.Maintenance {
		return "", false
	}
	return n.machine().TimedOut(time.Since(*n.ProvisionUpdatedAt), *c.config.Timeouts)
}
