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

// lockedNode is a node that a call has locked.
type lockedNode struct {
	id   string
	open *openConnection // nil if there is none, or the call has no more use for it
}

// enter begins a call: it waits for the node's lock.
func (d *Driver) enter(ctx context.Context, of call) (*lockedNode, error) {
	if err := d.locks.Lock(ctx, of.id); err != nil {
		err = fmt.Errorf("waiting for another call for node %s: %w", of.id, err)
		return nil, &verify.Error{Op: of.op, Kind: verify.KindOf(err), Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &lockedNode{id: of.id, open: d.sessions[of.id]}
	if n.open != nil {
		d.sessions[of.id] = nil
	}
	return n, nil
}

// leave ends a call: it releases the node's lock.
func (d *Driver) leave(n *lockedNode) {
	d.mu.Lock()
	if d.sessions[n.id] == nil {
		delete(d.sessions, n.id)
	}
	d.mu.Unlock()
	d.locks.Unlock(n.id)
}

// resume reports whether the node has a usable session, and closes an unusable one.
func (d *Driver) resume(ctx context.Context, n *lockedNode, c Config) bool {
	s := n.open
	if s == nil {
		return false
	}
	if s.config.equal(c) && time.Since(s.used) <= d.config.Idle {
		s.begin()
		return true
	}
	closeConnection(ctx, s, s.config.Log)
	n.open = nil
	return false
}

// keep ends the use of a node's session: it keeps the session for the next call, or closes it if Sessions are kept
// already. It first drops the sessions that were unused for longer than Idle, at most closedAtOnce: the call waits as
// long as for one of them, not for a fleet. It does not evict the least recently used session: in a fleet that is
// polled in turn, that would close every session before its next use.
func (d *Driver) keep(ctx context.Context, n *lockedNode) {
	n.open.used = time.Now()
	d.mu.Lock()
	dropped := d.expired(closedAtOnce)
	if _, kept := d.sessions[n.id]; !d.closed && (kept || len(d.sessions) < d.config.Sessions) {
		d.sessions[n.id] = n.open
	} else {
		dropped = append(dropped, n.open)
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
	for id, s := range d.sessions {
		if s != nil && len(expired) < most && (d.closed || time.Since(s.used) > d.config.Idle) {
			expired = append(expired, s)
			delete(d.sessions, id)
		}
	}
	return expired
}

// Close logs out of the kept sessions. Calls in flight log out when they end; later
// calls keep no session. The error is the context's, if it ends before Close is done.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	kept := d.expired(len(d.sessions))
	d.mu.Unlock()
	for some := range slices.Chunk(kept, closedAtOnce) {
		if ctx.Err() == nil {
			closeAll(ctx, some)
		}
	}
	return ctx.Err()
}
