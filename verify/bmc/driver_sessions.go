// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/verify"
)

// openConnection is a connection that is open.
type openConnection struct {
	connection
	config Config // the configuration that it was opened with
	used   time.Time
	failed bool // the last call has failed with an answer of a BMC that was not busy
}

// node is a node with a call in flight or a kept session.
type node struct {
	mu    chan struct{} // a mutex as a channel: full while a call uses the node
	calls int           // calls that hold mu or wait for it; guarded by Driver.mu
	kept  bool          // the session is kept between calls, and counts in Driver.kept; guarded by Driver.mu

	// open belongs to the call that holds mu; without a call, Driver.mu guards it.
	// It is nil outside of calls unless kept is set.
	open *openConnection
}

// enter begins a call: it waits for the node's mutex.
func (d *Driver) enter(ctx context.Context, of call) (*node, error) {
	d.mu.Lock()
	n := d.nodes[of.id]
	if n == nil {
		n = &node{mu: make(chan struct{}, 1)}
		d.nodes[of.id] = n
	}
	n.calls++
	d.mu.Unlock()

	select {
	case n.mu <- struct{}{}:
		return n, nil
	case <-ctx.Done():
		d.forget(of.id, n)
		err := fmt.Errorf("waiting for another call for node %s: %w", of.id, ctx.Err())
		return nil, &verify.Error{Op: of.op, Kind: verify.KindOf(err), Err: err}
	}
}

// leave ends a call: it releases the node's mutex.
func (d *Driver) leave(id string, n *node) {
	d.mu.Lock()
	if n.open == nil && n.kept {
		n.kept = false
		d.kept--
	}
	d.mu.Unlock()
	<-n.mu
	d.forget(id, n)
}

// forget ends the count of a call, and removes a node that has no other calls and no session.
func (d *Driver) forget(id string, n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n.calls--
	if n.calls == 0 && n.open == nil {
		delete(d.nodes, id)
	}
}

// resume reports whether the node has a usable session, and closes an unusable one.
func (d *Driver) resume(ctx context.Context, n *node, c Config) bool {
	s := n.open
	if s == nil {
		return false
	}
	if s.config.equal(c) && time.Since(s.used) <= d.config.Idle {
		s.begin()
		return true
	}
	n.open = nil
	closeConnection(ctx, s, s.config.Log)
	return false
}

// keep keeps the node's session for its next call, or closes it if Sessions are kept already. It first drops the
// sessions that were unused for longer than Idle, at most closedAtOnce: the call waits as long as for one of them, not
// for a fleet. It does not evict the least recently used session: in a fleet that is polled in turn, that would close
// every session before its next use.
func (d *Driver) keep(ctx context.Context, n *node) {
	n.open.used = time.Now()
	d.mu.Lock()
	dropped := d.expired(closedAtOnce)
	if !n.kept && d.kept < d.config.Sessions {
		n.kept = true
		d.kept++
	}
	if !n.kept || d.closed {
		dropped = append(dropped, n.open)
		n.open = nil
	}
	d.mu.Unlock()
	closeAll(ctx, dropped)
}

// closedAtOnce is the number of kept sessions that are closed at the same time. A BMC that does not answer takes
// graceTime.
const closedAtOnce = 16

// closeAll closes connections at the same time.
func closeAll(ctx context.Context, all []*openConnection) {
	var group sync.WaitGroup
	for _, s := range all {
		group.Go(func() { closeConnection(ctx, s, s.config.Log) })
	}
	group.Wait()
}

// expired removes and returns the sessions that were unused for longer than Idle and, once the driver is closed, all
// that are not in use, up to a number. The caller holds d.mu.
func (d *Driver) expired(most int) []*openConnection {
	var expired []*openConnection
	for id, n := range d.nodes {
		if len(expired) == most {
			break
		}
		if n.calls > 0 || n.open == nil || !d.closed && time.Since(n.open.used) <= d.config.Idle {
			continue
		}
		expired = append(expired, n.open)
		d.kept--
		delete(d.nodes, id)
	}
	return expired
}

// Close logs out of the kept sessions. Calls in flight log out when they end; later
// calls keep no session. The error is the context's, if it ends before Close is done.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	kept := d.expired(len(d.nodes))
	d.mu.Unlock()
	for some := range slices.Chunk(kept, closedAtOnce) {
		if ctx.Err() == nil {
			closeAll(ctx, some)
		}
	}
	return ctx.Err()
}
