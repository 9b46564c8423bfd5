package conductor_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

// simStore is the store as one conductor sees it.
type simStore struct {
	*world
	name string
}

var errCut = errors.New("the store cannot be reached")

// reach delays a call, or fails it before or after it is done.
func (s *simStore) reach(ctx context.Context) error {
	sleep(ctx, s.upTo(20*time.Millisecond))
	if s.chance(3) {
		sleep(ctx, s.upTo(3*time.Second))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.isCut(s.name) || s.chance(2) {
		return errCut
	}
	return nil
}

func (s *simStore) lost() error {
	if s.isCut(s.name) || s.chance(2) {
		return errCut
	}
	return nil
}

func (s *simStore) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if err := s.reach(ctx); err != nil {
		return conductor.Record{}, err
	}
	return s.memory.Get(ctx, kind, key)
}

func (s *simStore) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	return s.memory.List(ctx, kind, after, limit)
}

func (s *simStore) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	revision, err := s.memory.Create(ctx, r)
	return revision, errors.Join(err, s.lost())
}

func (s *simStore) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	before, beforeErr := s.memory.Get(ctx, r.Kind, r.ID)
	revision, err := s.memory.Update(ctx, r)
	if err == nil && beforeErr == nil && r.Kind == conductor.KindNode {
		s.stored(s.name, before, r)
	}
	return revision, errors.Join(err, s.lost())
}

func (s *simStore) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if err := s.reach(ctx); err != nil {
		return 0, err
	}
	return s.memory.Delete(ctx, kind, id, revision)
}

func (s *simStore) Watch(ctx context.Context, kind conductor.Kind) iter.Seq2[conductor.Change, error] {
	return func(yield func(conductor.Change, error) bool) {
		if err := s.reach(ctx); err != nil {
			yield(conductor.Change{}, err)
			return
		}
		for change, err := range s.memory.Watch(ctx, kind) {
			sleep(ctx, s.upTo(50*time.Millisecond))
			if s.isCut(s.name) || s.chance(1) {
				yield(conductor.Change{}, errCut)
				return
			}
			if !yield(change, err) {
				return
			}
		}
	}
}

// lease is how long a member that is cut off stays one.
const lease = 10 * time.Second

// simMembers is a membership by leases.
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
	sleep(ctx, s.upTo(20*time.Millisecond))
	if s.isCut(s.name) || s.chance(2) {
		return false, errCut
	}
	s.members.mu.Lock()
	defer s.members.mu.Unlock()
	_, ok := s.members.members[id]
	return ok, nil
}

func (s *simMembership) Holds(id string) bool {
	alive, _ := s.alive(id)
	return alive
}

func (s *simMembership) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if s.isCut(s.name) || s.chance(5) {
			yield(nil, errCut)
			return
		}
		s.members.update(func() { s.members.members[self.ID] = self })
		gone := func() { s.members.update(func() { delete(s.members.members, self.ID) }) }
		defer gone()
		renewed := time.Now()
		for {
			members, changed := s.members.list()
			if !slices.ContainsFunc(members, func(m conductor.Member) bool { return m.ID == self.ID }) {
				yield(nil, errors.New("the lease has ended"))
				return
			}
			if !s.isCut(s.name) && !yield(members, nil) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-time.After(time.Second):
			}
			if !s.isCut(s.name) {
				renewed = time.Now()
			} else if time.Since(renewed) > lease/2 {
				// The member gives up before the others may take over.
				yield(nil, errCut)
				sleep(context.WithoutCancel(ctx), lease/2)
				return
			}
		}
	}
}
