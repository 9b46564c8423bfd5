package bmc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/verify"
)

// openConnection is a connection that is open.
type openConnection struct {
	control
	config Config // that it was opened with
	used   time.Time
}

// node is a node with a call under way or a session that is kept.
type node struct {
	turn   chan struct{} // has room for one: the call that may use the node
	calls  int           // that have the turn or wait for it; guarded by Driver.mu
	placed bool          // it has a place among the sessions kept; guarded by Driver.mu

	// open belongs to the call that has the turn, and to Driver.mu while there
	// is no call. It is nil outside of calls unless placed is set.
	open *openConnection
}

// enter waits for the node's turn.
func (d *Driver) enter(ctx context.Context, id, op string) (*node, error) {
	d.mu.Lock()
	n := d.nodes[id]
	if n == nil {
		n = &node{turn: make(chan struct{}, 1)}
		d.nodes[id] = n
	}
	n.calls++
	d.mu.Unlock()

	select {
	case n.turn <- struct{}{}:
		return n, nil
	case <-ctx.Done():
		d.forget(id, n)
		err := fmt.Errorf("waiting for another call for node %s: %w", id, ctx.Err())
		return nil, &verify.Error{Op: op, Kind: verify.KindOf(err), Err: err}
	}
}

// leave ends the node's turn.
func (d *Driver) leave(id string, n *node) {
	d.mu.Lock()
	if n.open == nil && n.placed {
		n.placed = false
		d.kept--
	}
	d.mu.Unlock()
	<-n.turn
	d.forget(id, n)
}

// forget ends a call, and drops a node that has nothing else.
func (d *Driver) forget(id string, n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n.calls--
	if n.calls == 0 && n.open == nil {
		delete(d.nodes, id)
	}
}

// resume reports whether the node has a session that can be used, and closes one
// that cannot.
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
	closeConnection(ctx, s)
	return false
}

// keep keeps the node's session for its next call if there is a place for it, and
// closes it if there is none. Sessions too long unused lose their place. A place
// is not taken from a session in use: least-recently-used order would close every
// session of a fleet asked in turn before its next call.
func (d *Driver) keep(ctx context.Context, n *node) {
	n.open.used = time.Now()
	d.mu.Lock()
	dropped := d.expired()
	if !n.placed && !d.closed && d.kept < d.config.Sessions {
		n.placed = true
		d.kept++
	}
	if !n.placed || d.closed {
		dropped = append(dropped, n.open)
		n.open = nil
	}
	d.mu.Unlock()
	for _, s := range dropped {
		closeConnection(ctx, s)
	}
}

// expired takes the sessions that were too long unused from their nodes, and all
// that are not in use once the driver is closed. d.mu is held.
func (d *Driver) expired() []*openConnection {
	var expired []*openConnection
	for id, n := range d.nodes {
		if n.calls > 0 || n.open == nil || !d.closed && time.Since(n.open.used) <= d.config.Idle {
			continue
		}
		expired = append(expired, n.open)
		d.kept--
		delete(d.nodes, id)
	}
	return expired
}

// Close logs out of the sessions that are kept. Calls that are under way log out
// when they are through; later ones keep no session. The error is the context's,
// if it ends before all is done.
func (d *Driver) Close(ctx context.Context) error {
	switch {
	case d == nil:
		return misconfigured(errors.New("the driver was not made by bmc.NewDriver"))
	case ctx == nil:
		return misconfigured(errNilContext)
	}
	d.mu.Lock()
	d.closed = true
	kept := d.expired()
	d.mu.Unlock()
	for _, s := range kept {
		if ctx.Err() == nil {
			closeConnection(ctx, s)
		}
	}
	return ctx.Err()
}
