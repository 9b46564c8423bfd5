// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/internal/sleep"
)

// sessions makes this conductor a member, and has its current session.
type sessions struct {
	config   *Config
	rules    *rulebook
	counters *counters
	changed  func()        // is called when the list of members has changed
	joined   chan struct{} // closed when the conductor is a member for the first time
	joinOnce sync.Once

	refused    chan struct{} // closed when an attempt to join has failed with ErrNameTaken
	refuseOnce sync.Once

	mu     sync.Mutex
	now    *session // nil while this conductor is no member
	reason error    // why the last session ended, if it has an HTTP status and so a text for clients
}

// session is one membership of this conductor, from joining to its loss.
type session struct {
	view
	ctx context.Context // the work's context; ends with the membership
	run *run
}

// run holds the contexts and the wait group of one call of Run.
type run struct {
	ctx   context.Context // of the periodic checks, and of whatever begins work
	work  context.Context // of the work on nodes, which may outlive ctx
	group sync.WaitGroup  // all goroutines
}

// errCutOff is the cause of the end of the work when the membership is lost.
var errCutOff = fmt.Errorf("%w: this conductor was cut off from the others", errLost)

// rejoinBackoff is the delay before a conductor that is no member joins again.
const rejoinBackoff = time.Second

// keep joins, and joins again after each loss of the membership, until the context ends.
func (ss *sessions) keep(ctx context.Context, r *run) {
	for ctx.Err() == nil {
		ss.serve(ctx, r)
		sleep.For(ctx, rejoinBackoff)
	}
}

// serve joins, and works until the membership is lost or the context ends.
func (ss *sessions) serve(ctx context.Context, r *run) {
	work, end := context.WithCancelCause(r.work)
	s := &session{view: view{id: uuid.NewString()}, ctx: work, run: r}
	self := Member{
		ID: s.id, Hostname: ss.config.Name, Group: ss.config.Group, Drivers: slices.Sorted(maps.Keys(ss.config.Hardware)), CreatedAt: now(),
		Descriptions: ss.rules.types.own,
	}
	var lost error
	for members, err := range ss.config.Membership.Join(ctx, self) {
		if err != nil {
			lost = err
			break
		}
		ss.logMembers(s, members)
		ss.rules.types.describe(members)
		s = &session{view: view{id: s.id, members: members}, ctx: work, run: r}
		ss.set(s)
		ss.joinOnce.Do(func() { close(ss.joined) })
		ss.changed()
	}
	if ctx.Err() != nil {
		context.AfterFunc(r.work, func() { end(nil) }) // the work continues until Run abandons it
		return
	}
	ss.set(nil)
	ss.explain(lost)
	end(errCutOff)
	if s.members == nil {
		if errors.Is(lost, ErrNameTaken) {
			ss.refuseOnce.Do(func() { close(ss.refused) })
		}
		ss.counters.joinsFailed.Add(1)
		ss.config.Log.Error("the conductor could not join the others and will try again", "member", s.id, "error", lost)
		return
	}
	ss.counters.membershipsLost.Add(1)
	ss.config.Log.Error("the conductor has lost its membership, has abandoned its work and will join again", "member", s.id, "error", lost)
}

// logMembers logs the conductors that have joined and left since the last list of members.
func (ss *sessions) logMembers(s *session, now []Member) {
	if s.members == nil {
		ss.counters.joins.Add(1)
		ss.config.Log.Info("the conductor has joined", "member", s.id, "members", len(now))
		return
	}
	for _, m := range now {
		if !isMember(s.members, m.ID) {
			ss.config.Log.Info("another conductor has joined", "conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
	for _, m := range s.members {
		if !isMember(now, m.ID) {
			ss.config.Log.Warn("another conductor has left or died, and the others take its nodes over",
				"conductor", m.Hostname, "member", m.ID, "members", len(now))
		}
	}
}

func (ss *sessions) set(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.now = s
}

// drainTimeout bounds the attempt to tell the others that this conductor drains.
const drainTimeout = 2 * time.Second

// drain tells the others that this conductor takes no more work, if the membership can.
func (ss *sessions) drain(ctx context.Context) {
	ss.mu.Lock()
	now := ss.now
	ss.mu.Unlock()
	drainer, ok := ss.config.Membership.(Drainer)
	if now == nil || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := drainer.Drain(ctx, now.id); err != nil {
		ss.config.Log.Warn("the others take the nodes of this conductor over only when it has left", "member", now.id, "error", err)
	}
}

// explain keeps the reason for which this conductor is no member, if clients may read it.
func (ss *sessions) explain(lost error) {
	var reason interface {
		error
		HTTPStatus() int
	}
	_ = errors.As(lost, &reason)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.reason = reason
}

// current returns the session, or an error where the conductor is no member.
func (ss *sessions) current() (*session, error) {
	ss.mu.Lock()
	now := ss.now
	ss.mu.Unlock()
	if now == nil || now.run.ctx.Err() != nil {
		return nil, ss.noMember()
	}
	return now, nil
}

// wasMember reports whether this conductor has been a member.
func (ss *sessions) wasMember() bool {
	select {
	case <-ss.joined:
		return true
	default:
		return false
	}
}

// noMember is the error of a request while this conductor is no member.
func (ss *sessions) noMember() error {
	const text = "no worker is free: conductor %s is not running or has lost its membership"
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.reason != nil {
		return refuse(NoWorker, text+": %w", ss.config.Name, ss.reason)
	}
	return refuse(NoWorker, text, ss.config.Name)
}
