// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/internal/bubble"
)

const lease = 10 * time.Second

var errExpired = errors.New("the lease has expired")

// board has the leases of all members.
type board struct {
	mu      sync.Mutex
	leases  map[string]*boardLease // by the member's ID
	refused atomic.Int64           // how often a name was taken, for a broken membership
}

type boardLease struct {
	conductor.Member
	ends time.Time
}

// locked calls f with the leases that have not ended.
func (b *board) locked(f func(map[string]*boardLease)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.leases, func(_ string, l *boardLease) bool { return !time.Now().Before(l.ends) })
	f(b.leases)
}

// members is a membership in one process. Tests replace its functions.
type members struct {
	*board
	cut     atomic.Bool
	renewed sync.Map // the time of the last renewal by ID

	alive func(ctx context.Context, id string) (bool, error)
	holds func(id string) bool
	join  func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error]
	// claim stores a new member, and reports whether its name was free.
	claim func(self conductor.Member) bool
	// patient is how long Join waits for the end of a lease with its name.
	patient time.Duration
	// renew renews a lease, and reports whether it still exists.
	renew func(id string) bool
	left  func(id string) // removes the member that leaves
	// listed reports whether the lists have a member.
	listed func(*boardLease) bool
}

func newMembers(b *board) *members {
	m := &members{board: b, patient: lease * 3 / 2}
	m.alive = func(_ context.Context, id string) (alive bool, err error) {
		b.locked(func(all map[string]*boardLease) { _, alive = all[id] })
		return alive, nil
	}
	m.holds = m.fresh
	m.listed = func(*boardLease) bool { return true }
	m.claim = func(self conductor.Member) (free bool) {
		b.locked(func(all map[string]*boardLease) {
			for _, other := range all {
				if other.Hostname == self.Hostname {
					return
				}
			}
			free = true
			all[self.ID] = &boardLease{self, time.Now().Add(lease)}
		})
		return free
	}
	m.renew = func(id string) (exists bool) {
		b.locked(func(all map[string]*boardLease) {
			l, ok := all[id]
			if exists = ok; ok {
				l.ends = time.Now().Add(lease)
			}
		})
		return exists
	}
	m.left = func(id string) { b.locked(func(all map[string]*boardLease) { delete(all, id) }) }
	m.join = m.joinOnce
	return m
}

func (m *members) Alive(ctx context.Context, id string) (bool, error) { return m.alive(ctx, id) }
func (m *members) Holds(id string) bool                               { return m.holds(id) }
func (m *members) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return m.join(ctx, self)
}

// Jump makes all renewals older.
func (m *members) Jump(d time.Duration) {
	m.renewed.Range(func(id, at any) bool { m.renewed.Store(id, at.(time.Time).Add(-d)); return true })
}

// process returns the membership for the check.
func (m *members) process() storetest.Process {
	return storetest.Process{Membership: m, Cut: m.cut.Store, Jump: m.Jump}
}

// fresh reports whether a lease was renewed within two thirds of its time.
func (m *members) fresh(id string) bool {
	at, ok := m.renewed.Load(id)
	return ok && time.Since(at.(time.Time)) < lease*2/3
}

// keep renews a lease every tenth of it until the context ends.
func (m *members) keep(ctx context.Context, id string) {
	for ctx.Err() == nil {
		if now := time.Now(); !m.cut.Load() && m.renew(id) {
			m.renewed.Store(id, now)
		}
		select {
		case <-time.After(lease / 10):
		case <-ctx.Done():
		}
	}
}

func (m *members) joinOnce(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		for begin := time.Now(); ; time.Sleep(lease / 20) {
			switch {
			case ctx.Err() != nil:
				return
			case m.claim(self):
			case time.Since(begin) > m.patient:
				yield(nil, conductor.ErrNameTaken)
				return
			default:
				continue
			}
			break
		}
		renewing, cancel := context.WithCancel(ctx)
		var keeping sync.WaitGroup
		m.renewed.Store(self.ID, time.Now())
		keeping.Go(func() { m.keep(renewing, self.ID) })
		defer m.left(self.ID)
		defer m.renewed.Delete(self.ID)
		defer keeping.Wait()
		defer cancel()
		var last []conductor.Member
		for ctx.Err() == nil {
			if !m.fresh(self.ID) {
				yield(nil, errExpired)
				return
			}
			list := m.list()
			if !m.cut.Load() && len(list) > 0 && !slices.EqualFunc(list, last, func(a, b conductor.Member) bool { return a.ID == b.ID }) {
				last = list
				if !yield(slices.Clone(list), nil) {
					return
				}
			}
			select {
			case <-time.After(lease / 50):
			case <-ctx.Done():
			}
		}
	}
}

// list returns the members in the order of their IDs.
func (m *members) list() (all []conductor.Member) {
	m.locked(func(leases map[string]*boardLease) {
		for _, l := range leases {
			if m.listed(l) {
				all = append(all, l.Member)
			}
		}
	})
	slices.SortFunc(all, func(a, b conductor.Member) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func TestAMembershipThatKeepsItsPromisesPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{leases: map[string]*boardLease{}}
		require.NoError(t, storetest.CheckMembership(lease, newMembers(b).process(), newMembers(b).process()))
		alone := storetest.Process{Membership: newMembers(b)}
		require.NoError(t, storetest.CheckMembership(lease, alone, alone), "as one process that cannot be cut off")
	})
}

// TestBrokenPromisesOfMembershipsAreFound breaks one promise after the other in both processes.
func TestBrokenPromisesOfMembershipsAreFound(t *testing.T) {
	for _, mutant := range brokenMemberships {
		t.Run(mutant.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &board{leases: map[string]*boardLease{}}
				first, second := newMembers(b), newMembers(b)
				mutant.breaks(first)
				mutant.breaks(second)
				err := storetest.CheckMembership(lease, first.process(), second.process())
				bubble.Sleep(20 * hang) // until the hanging goroutines have ended
				require.ErrorContains(t, err, mutant.found)
			})
		})
	}
}

func TestTheCheckOfAMembershipEndsWithThePromiseAtWhichAMethodHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMembers(&board{leases: map[string]*boardLease{}})
		m.alive = func(context.Context, string) (bool, error) { time.Sleep(hang); return true, nil }
		begin := time.Now()
		err := storetest.CheckMembership(lease, m.process(), m.process())
		require.Equal(t, 2*20*lease, time.Since(begin))
		require.ErrorContains(t, err, `the check ends with the promise "a member joins, and all members see it", which took longer than 3m20s`)
		bubble.Sleep(20 * hang) // until the method has returned
	})
}

func TestALostMembershipIsCheckedOnlyIfAProcessCanBeCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*storetest.Process)
		finds  []string
	}{
		"with all faults": {func(*storetest.Process) {}, []string{"slow: ", "suspension: "}},
		"without a jump":  {func(p *storetest.Process) { p.Jump = nil }, []string{"slow: "}},
		"without a cut":   {func(p *storetest.Process) { p.Cut = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &board{leases: map[string]*boardLease{}}
				m := newMembers(b)
				m.holds = func(id string) bool { _, ok := m.renewed.Load(id); return ok }
				p := m.process()
				test.change(&p)
				err := storetest.CheckMembership(lease, p, newMembers(b).process())
				found := fmt.Sprint(err)
				require.Equal(t, len(test.finds), strings.Count(found, ": "), found)
				for _, text := range test.finds {
					require.Contains(t, found, text)
				}
			})
		})
	}
}
