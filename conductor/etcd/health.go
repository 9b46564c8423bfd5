// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ironstate/ironstate/internal/sleep"
)

// Health returns nil if the servers accept writes, and otherwise [ErrNoMajority], [ErrNoSpace] or [ErrClosed]. It does
// no I/O: a server in this process is observed ten times a second, other servers by one read a second. Servers that
// have no majority are known as such in a second after the last leader has given up, which takes one to two election
// timeouts; other servers in three seconds. A full disk of other servers is known once a write was refused for it.
func (s *Store) Health() error {
	if s.closing.Err() != nil {
		return ErrClosed
	}
	return s.monitor.health().err()
}

// observation is the result of one look at the servers.
type observation struct {
	led  bool // they have a leader, and so a majority
	full bool // they refuse writes because a disk or the database is full
}

// health is a store's knowledge of its servers.
type health struct {
	missed int // observations in a row without a leader, at most the limit
	lost   bool
	full   bool
}

// next returns the health after an observation. The majority is lost after limit observations in a row without a
// leader, so that an election that succeeds at once interrupts nothing.
func (h health) next(o observation, limit int) health {
	missed := 0
	if !o.led {
		missed = min(h.missed+1, limit)
	}
	return health{missed: missed, lost: missed == limit, full: o.full}
}

// err returns the error of a write that is not sent.
func (h health) err() error {
	switch {
	case h.lost:
		return ErrNoMajority
	case h.full:
		return ErrNoSpace
	default:
		return nil
	}
}

// monitor observes the servers, and ends requests in flight when the majority is lost.
type monitor struct {
	log     *slog.Logger
	observe func(context.Context) observation
	pause   time.Duration // between two observations
	limit   int           // see health.next

	mu       sync.Mutex
	now      health
	majority context.Context // ends with the cause ErrNoMajority
	end      context.CancelCauseFunc
	since    time.Time // the time at which the majority was lost
}

const (
	localPause = 100 * time.Millisecond
	localLimit = 5
	probePause = time.Second
	probeLimit = 2
	// probeTimeout bounds one observation of other servers.
	probeTimeout = time.Second
)

func newMonitor(log *slog.Logger) *monitor {
	m := &monitor{log: log}
	m.majority, m.end = context.WithCancelCause(context.Background())
	return m
}

// run observes the servers until the context ends. The first observation follows a pause.
func (m *monitor) run(ctx context.Context) {
	for {
		pause := m.pause
		if m.health().missed > 0 {
			pause = min(pause, localPause)
		}
		sleep.For(ctx, pause)
		seen := m.observe(ctx)
		if ctx.Err() != nil {
			return
		}
		m.add(seen)
	}
}

// add adds an observation, and logs a change of the majority.
func (m *monitor) add(o observation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.now
	m.now = before.next(o, m.limit)
	switch {
	case m.now.lost && !before.lost:
		m.since = time.Now()
		m.end(ErrNoMajority)
		m.log.Warn("the majority of etcd's servers is lost: writes are refused until more than half of the servers run and reach each other")
	case before.lost && !m.now.lost:
		m.majority, m.end = context.WithCancelCause(context.Background())
		m.log.Info("the majority of etcd's servers is back", "after", time.Since(m.since).Round(time.Millisecond))
	}
}

func (m *monitor) health() health {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// within returns a context that also ends, with the cause ErrNoMajority, when the majority is lost. If it is lost
// already, the error is ErrNoMajority. The caller calls the returned function when it no longer needs the context.
func (m *monitor) within(ctx context.Context) (context.Context, func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.lost {
		return nil, nil, ErrNoMajority
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.majority, func() { cancel(ErrNoMajority) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// noteWrite remembers the result of a write of other servers, which is how a full disk of theirs is seen.
func (m *monitor) noteWrite(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if noSpace := errors.Is(err, ErrNoSpace); noSpace || err == nil {
		m.now.full = noSpace
	}
}

// awaitMajority waits until the servers have a majority or the context ends.
func (s *Store) awaitMajority(ctx context.Context) {
	for ctx.Err() == nil && s.monitor.health().lost {
		sleep.For(ctx, localPause)
	}
}

// probe observes servers that are not in this process, by a linearizable read. While they refuse writes because there
// is no space, it is a write that would change nothing: etcd's check for space comes before the condition, which no key
// fulfils.
func (s *Store) probe(ctx context.Context) observation {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), probeTimeout)
	defer cancel()
	key, full := s.layout.prefix+"/v1/", s.monitor.health().full
	var err error
	if full {
		_, err = s.client.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "=", -1)).Then(clientv3.OpPut(key, "")).Commit()
	} else {
		_, err = s.client.Get(ctx, key, clientv3.WithCountOnly())
	}
	// Another error, such as a refused permission, comes from servers that have a majority.
	outage := ctx.Err() != nil || isUnavailable(err)
	return observation{led: !outage, full: full && (outage || errors.Is(err, rpctypes.ErrNoSpace))}
}
