// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// FilePublisher is a [Hardware] that publishes files for machines from this process, such as the images that they boot.
// It withdraws them itself when their use ends in this process. At each check the conductor withdraws those that are
// left: another conductor has taken the node over and has ended its work, this process has died before, or the node was
// deleted. Files may contain secrets.
type FilePublisher interface {
	// Published returns the UUIDs of the nodes for which files are published.
	Published() ([]string, error)
	// KeepsFiles reports whether the node's machine may load its files although no work is on the node. An example is
	// an instance that is a ramdisk.
	KeepsFiles(n *Node) bool
	// Withdraw removes the files of a node, which need not exist.
	Withdraw(node string) error
}

// needsFiles reports whether the machine of a node may load published files. The files may be those of a conductor that
// no longer owns the node: a machine may still load them.
func needsFiles(b *rulebook, n *Node) bool {
	if n == nil {
		return false
	}
	switch states.Latest().Table().Phase(n.ProvisionState) {
	case states.PhaseWorking, states.PhaseWaiting, states.PhaseHold:
		return true
	}
	hardware, enabled := b.config.Hardware[n.Driver]
	if !enabled { // what its machine needs is not known
		return true
	}
	publisher, ok := hardware.(FilePublisher)
	return ok && publisher.KeepsFiles(n)
}

// withdrawFiles withdraws the files that this process has published and no machine needs. A hardware type that panics
// or hangs holds up no other check; the next check asks it again when it has returned.
func withdrawFiles(c *Conductor) {
	s, err := c.sessions.current()
	if err != nil || !c.fleet.nodes.Synced() {
		return
	}
	for name, hardware := range c.config.Hardware {
		publisher, ok := hardware.(FilePublisher)
		worker := "the files of " + name
		if !ok || !c.engine.pool.tryTake(worker) {
			continue
		}
		s.run.group.Go(func() {
			defer c.engine.pool.free(worker)
			err := bounded(s.ctx, func(ctx context.Context) error { return withdrawUnneeded(ctx, c, publisher) })
			if err != nil && s.ctx.Err() == nil {
				c.config.Log.Warn("published files could not be withdrawn", "driver", name, "error", err)
			}
		})
	}
}

// withdrawUnneeded withdraws the files of a hardware type that no machine needs. While a node has a worker, its files
// stay until the next check.
func withdrawUnneeded(ctx context.Context, c *Conductor, publisher FilePublisher) error {
	published, err := publisher.Published()
	errs := []error{err}
	for _, id := range published {
		if needsFiles(c.rules, c.fleet.nodes.Get(id)) || !c.engine.pool.tryTake(id) {
			continue
		}
		errs = append(errs, func() error {
			defer c.engine.pool.free(id)
			n, err := c.fleet.storedNode(ctx, id)
			switch {
			case err != nil && !errors.Is(err, NotFound):
				return fmt.Errorf("load node %s: %w", id, err)
			case needsFiles(c.rules, n):
				return nil
			}
			c.config.Log.Info("published files that no machine needs are withdrawn", "node", id)
			return publisher.Withdraw(id)
		}())
	}
	return errors.Join(errs...)
}
