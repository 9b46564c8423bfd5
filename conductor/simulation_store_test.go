// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
)

// simStore is the store as one conductor sees it.
type simStore struct {
	*world
	name string
}

var errCut = errors.New("the store cannot be reached")

// reach delays a call and may fail it before it reaches the store.
func (s *simStore) reach(ctx context.Context, operation string, kind conductor.Kind, id string) error {
	id = s.drawn(kind, id)
	s.whileStopped(s.name, operation, id)
	defer s.whileStopped(s.name, operation, id)
	sleep.For(ctx, s.upTo(20*time.Millisecond, s.name, operation, id, "takes"))
	if s.chance(3, s.name, operation, id, "is slow") {
		sleep.For(ctx, s.upTo(3*time.Second, s.name, operation, id, "takes longer"))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.isCut(s.name) || s.chance(2, s.name, operation, id, "does not arrive") {
		return errCut
	}
	return nil
}

// drawn returns the name of a record for draw. The IDs of nodes are reproducible; for another record
// it is the kind and the time of its creation.
func (s *simStore) drawn(kind conductor.Kind, id string) string {
	if kind == conductor.KindNode {
		return id
	}
	var created struct {
		At string `json:"created_at"`
	}
	if r, err := s.memory.Get(context.Background(), kind, id); err == nil {
		_ = json.Unmarshal(r.Value, &created)
	}
	return string(kind) + created.At
}

// lost may fail a write that was done: the response is lost.
func (s *simStore) lost(r conductor.Record) error {
	s.whileStopped(s.name, "write", s.drawn(r.Kind, r.ID))
	if s.isCut(s.name) || s.chance(2, s.name, s.drawn(r.Kind, r.ID), "is not answered") {
		return errCut
	}
	return nil
}

func (s *simStore) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if err := s.reach(ctx, "get", kind, key); err != nil {
		return conductor.Record{}, err
	}
	return s.memory.Get(ctx, kind, key)
}

func (s *simStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	if err := s.reach(ctx, "list", kind, after); err != nil {
		return nil, err
	}
	return s.memory.List(ctx, kind, after, limit)
}

func (s *simStore) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.reach(ctx, "create", r.Kind, r.ID); err != nil {
		return 0, err
	}
	revision, err := s.memory.Create(ctx, r)
	return revision, errors.Join(err, s.lost(r))
}

func (s *simStore) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.reach(ctx, "update", r.Kind, r.ID); err != nil {
		return 0, err
	}
	s.writing.Lock()
	before, beforeErr := s.memory.Get(ctx, r.Kind, r.ID)
	revision, err := s.memory.Update(ctx, r)
	if err == nil && beforeErr == nil && r.Kind == conductor.KindNode {
		s.stored(s.name, before, r, revision)
	}
	s.writing.Unlock()
	err = errors.Join(err, s.lost(r))
	if err == nil {
		s.answered(r.ID, revision)
	}
	return revision, err
}

func (s *simStore) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if err := s.reach(ctx, "delete", kind, id); err != nil {
		return 0, err
	}
	return s.memory.Delete(ctx, kind, id, revision)
}

func (s *simStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if err := s.reach(ctx, "watch", kind, ""); err != nil {
			yield(conductor.Change{}, err)
			return
		}
		for change, err := range s.memory.Watch(ctx, kind) {
			id := s.drawn(kind, change.Record.ID)
			sleep.For(ctx, s.upTo(50*time.Millisecond, s.name, "hears of", id))
			s.whileStopped(s.name, "hears of", id)
			if s.isCut(s.name) || s.chance(1, s.name, "does not hear of", id) {
				yield(conductor.Change{}, errCut)
				return
			}
			if !yield(change, err) {
				return
			}
		}
	}
}

// lease is how long the others still see a member that is cut off.
const lease = 10 * time.Second

// simMembers is the list of members, which all conductors share.
type simMembers struct {
	mu      sync.Mutex
	members map[string]conductor.Member
	changed chan struct{}
}

func (m *simMembers) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	if m.changed != nil {
		close(m.changed)
	}
	m.changed = make(chan struct{})
}

func (m *simMembers) list() ([]conductor.Member, chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.members), func(a, b conductor.Member) int { return strings.Compare(a.ID, b.ID) }), m.changed
}

// simMembership is the membership as one conductor sees it.
type simMembership struct {
	*world
	name string
}

func (s *simMembership) Alive(ctx context.Context, id string) (bool, error) {
	s.whileStopped(s.name, "asks whether one is alive")
	sleep.For(ctx, s.upTo(20*time.Millisecond, s.name, "asks whether one is alive"))
	if s.isCut(s.name) || s.chance(2, s.name, "is not last whether one is alive") {
		return false, errCut
	}
	s.members.mu.Lock()
	defer s.members.mu.Unlock()
	_, ok := s.members.members[id]
	return ok, nil
}

func (s *simMembership) Holds(id string) bool {
	s.whileStopped(s.name, "holds")
	return s.alive(id)
}

// Join implements [conductor.Membership]. A member that is cut off loses its membership
// before the others may take over. One that was stopped learns of the loss when it has run for a
// while.
func (s *simMembership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if s.isCut(s.name) || s.chance(5, s.name, "cannot join") {
			yield(nil, errCut)
			return
		}
		s.members.update(func() { s.members.members[self.ID] = self })
		defer s.leave(self)
		var last []conductor.Member
		for {
			s.whileStopped(s.name, "join")
			members, changed := s.members.list()
			since := s.cutSince(s.name)
			if !slices.ContainsFunc(members, func(m conductor.Member) bool { return m.ID == self.ID }) {
				sleep.For(ctx, s.upTo(2*time.Second, s.name, "learns that it is no member"))
				yield(nil, errCut)
				return
			}
			if since.IsZero() && !slices.EqualFunc(members, last, sameMember) {
				if !yield(members, nil) {
					return
				}
				last = members
			}
			left := lease
			if !since.IsZero() {
				left = lease/2 - time.Since(since)
			}
			if left <= 0 {
				yield(nil, errCut)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-time.After(left):
			}
		}
	}
}

// leave removes a member: at once, or when its lease expires if the conductor is cut off.
func (s *simMembership) leave(self conductor.Member) {
	gone := func() { s.members.update(func() { delete(s.members.members, self.ID) }) }
	if since := s.cutSince(s.name); !since.IsZero() {
		time.AfterFunc(lease-time.Since(since)+s.upTo(time.Second, s.name, "leaves"), gone)
	} else {
		gone()
	}
}

func sameMember(a, b conductor.Member) bool { return a.ID == b.ID }
