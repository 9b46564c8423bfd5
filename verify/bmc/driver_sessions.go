// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/internal/keylock"
	"github.com/ironstate/ironstate/verify"
)

// sessions keeps the sessions of a [Driver] open between its calls, and has the calls for one node run one at a time.
type sessions struct {
	most int
	idle time.Duration

	locks keylock.Locks // by node

	mu     sync.Mutex
	closed bool
	kept   map[string]*openConnection // by node; nil while a call uses the session or replaces it
}

// openConnection is a connection that is open.
type openConnection struct {
	connection
	config Config // the configuration that it was opened with
	history
}

// enter begins a call: it waits for the node's lock. It returns the connection that is kept for the node, nil if there
// is none.
func (s *sessions) enter(ctx context.Context, of call) (*openConnection, error) {
	if err := s.locks.Lock(ctx, of.id); err != nil {
		err = fmt.Errorf("waiting for another call for node %s: %w", of.id, err)
		return nil, &verify.Error{Op: of.op, Kind: verify.KindOf(err), Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.kept[of.id]
	if conn != nil {
		s.kept[of.id] = nil
	}
	return conn, nil
}

// leave ends a call: it releases the node's lock.
func (s *sessions) leave(id string) {
	s.mu.Lock()
	if s.kept[id] == nil {
		delete(s.kept, id)
	}
	s.mu.Unlock()
	s.locks.Unlock(id)
}

// resume reports whether a kept connection, which may be nil, is usable, and closes an unusable one.
func (s *sessions) resume(ctx context.Context, conn *openConnection, c Config) bool {
	if conn == nil {
		return false
	}
	if conn.config.equal(c) && time.Since(conn.used) <= s.idle {
		conn.begin()
		return true
	}
	closeConnection(ctx, conn, conn.config.Log)
	return false
}

// keep ends the use of a node's session: it keeps the session for the next call, or closes it if Sessions are kept
// already. It first drops the sessions that were unused for longer than Idle, at most closedAtOnce: the call waits as
// long as for one of them, not for a fleet. It does not evict the least recently used session: in a fleet that is
// polled in turn, that would close every session before its next use.
func (s *sessions) keep(ctx context.Context, id string, conn *openConnection) {
	conn.used = time.Now()
	s.mu.Lock()
	dropped := s.expired(closedAtOnce)
	if _, kept := s.kept[id]; !s.closed && (kept || len(s.kept) < s.most) {
		s.kept[id] = conn
	} else {
		dropped = append(dropped, conn)
	}
	s.mu.Unlock()
	closeAll(ctx, dropped)
}

// closedAtOnce is the number of kept sessions that are closed at the same time. A BMC that does not answer takes
// graceTime.
const closedAtOnce = 16

// closeAll closes connections at the same time.
func closeAll(ctx context.Context, all []*openConnection) {
	var group sync.WaitGroup
	for _, conn := range all {
		group.Go(func() { closeConnection(ctx, conn, conn.config.Log) })
	}
	group.Wait()
}

// expired removes and returns the sessions that were unused for longer than Idle and, once the driver is closed, all
// that are not in use, up to a number. The caller holds s.mu.
func (s *sessions) expired(most int) []*openConnection {
	var expired []*openConnection
	for id, conn := range s.kept {
		if conn != nil && len(expired) < most && (s.closed || time.Since(conn.used) > s.idle) {
			expired = append(expired, conn)
			delete(s.kept, id)
		}
	}
	return expired
}

// close implements [Driver.Close].
func (s *sessions) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	kept := s.expired(len(s.kept))
	s.mu.Unlock()
	for some := range slices.Chunk(kept, closedAtOnce) {
		if ctx.Err() == nil {
			closeAll(ctx, some)
		}
	}
	return ctx.Err()
}
