// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor"
)

// lists replaces each list that Join yields by the result of f, which is called by one goroutine at a time.
func (m *members) lists(f func(self conductor.Member, list []conductor.Member) []conductor.Member) {
	var mu sync.Mutex
	m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
		return func(yield func([]conductor.Member, error) bool) {
			m.joinOnce(ctx, self)(func(list []conductor.Member, err error) bool {
				if err == nil {
					mu.Lock()
					list = f(self, list)
					mu.Unlock()
				}
				return err == nil && list == nil || yield(list, err)
			})
		}
	}
}

// errs replaces each error of Join by the result of f; nil ends the range without an error. Without one, the end of the
// range is replaced by the result of f if that is an error.
func (m *members) errs(f func(err error) error) {
	m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
		return func(yield func([]conductor.Member, error) bool) {
			for list, err := range m.joinOnce(ctx, self) {
				if err != nil {
					if err = f(err); err != nil {
						yield(nil, err)
					}
					return
				}
				if !yield(list, nil) {
					return
				}
			}
			if err := f(nil); err != nil {
				yield(nil, err)
			}
		}
	}
}

var brokenMemberships = []struct {
	name   string
	found  string // the name of the promise that CheckMembership reports, or its finding
	breaks func(m *members)
}{
	{"anybody is alive", "an ID of nobody", func(m *members) {
		m.alive = func(context.Context, string) (bool, error) { return true, nil }
	}},
	{"anybody is held", "an ID of nobody", func(m *members) { m.holds = func(string) bool { return true } }},
	{"nobody is alive", "a member joins", func(m *members) {
		m.alive = func(context.Context, string) (bool, error) { return false, nil }
	}},
	{"Alive fails", "alive: no answer", func(m *members) {
		m.alive = func(context.Context, string) (bool, error) { return false, errors.New("no answer") }
	}},
	{"nobody is held", "Holds is true for a member that has joined", func(m *members) { m.holds = func(string) bool { return false } }},
	{"a list lacks its own member", "the list lacks the member", func(m *members) {
		m.lists(func(self conductor.Member, list []conductor.Member) []conductor.Member {
			return slices.DeleteFunc(list, func(m conductor.Member) bool { return m.ID == self.ID })
		})
	}},
	{"a list lacks the others", "a member joins", func(m *members) {
		m.lists(func(self conductor.Member, _ []conductor.Member) []conductor.Member { return []conductor.Member{self} })
	}},
	{"a list lacks a field", "want the member", func(m *members) {
		m.lists(func(_ conductor.Member, list []conductor.Member) []conductor.Member {
			for i := range list {
				list[i].Drivers = nil
			}
			return list
		})
	}},
	{"a list comes only for those who join", "a member leaves", func(m *members) {
		most := 0
		m.lists(func(_ conductor.Member, list []conductor.Member) []conductor.Member {
			if len(list) < most {
				return nil
			}
			most = len(list)
			return list
		})
	}},
	{"a member that leaves remains until its lease ends", "alive is true, want false", func(m *members) {
		known := sync.Map{}
		left := m.left
		m.left = func(id string) { known.Store(id, time.Now()); left(id) }
		alive := m.alive
		m.alive = func(ctx context.Context, id string) (bool, error) {
			if at, ok := known.Load(id); ok && time.Since(at.(time.Time)) < lease {
				return true, nil
			}
			return alive(ctx, id)
		}
	}},
	{"one that was not alive is alive again", "after a member has left", func(m *members) {
		var mu sync.Mutex
		asked := map[string]int{}
		alive := m.alive
		m.alive = func(ctx context.Context, id string) (bool, error) {
			is, err := alive(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if !is {
				asked[id]++
			}
			return is || asked[id] == 3, err
		}
	}},
	{"a member that leaves holds on", "holds is true for a member that has left", func(m *members) {
		var joined sync.Map
		claim := m.claim
		m.claim = func(self conductor.Member) bool { joined.Store(self.ID, true); return claim(self) }
		m.holds = func(id string) bool { _, ok := joined.Load(id); return ok }
	}},
	{"who leaves the range stays", "a member leaves", func(m *members) {
		m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
			return func(yield func([]conductor.Member, error) bool) {
				left := false
				m.joinOnce(ctx, self)(func(list []conductor.Member, err error) bool {
					left = left || !yield(list, err)
					if left {
						<-ctx.Done()
					}
					return !left
				})
			}
		}
	}},
	{"a context that ends is an error", "a member leaves", func(m *members) {
		m.errs(func(err error) error {
			if err == nil {
				err = context.Canceled
			}
			return err
		})
	}},
	{"a context that has ended is an error", "Join ends with its context", func(m *members) {
		m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
			if ctx.Err() == nil {
				return m.joinOnce(ctx, self)
			}
			return func(yield func([]conductor.Member, error) bool) { yield(nil, ctx.Err()) }
		}
	}},
	{"who joins too late stays", "Join ends with its context", func(m *members) {
		m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
			if ctx.Err() != nil {
				m.claim(self)
			}
			return m.joinOnce(ctx, self)
		}
	}},
	{"Join does not look at its context", "did not return", func(m *members) {
		m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
			if ctx.Err() != nil {
				time.Sleep(hang)
			}
			return m.joinOnce(ctx, self)
		}
	}},
	{"names are not compared", "no two members have one name", func(m *members) {
		m.claim = func(self conductor.Member) bool { m.add(self); return true }
	}},
	{"a taken name is any error", "no two members have one name", func(m *members) {
		m.errs(func(err error) error {
			if errors.Is(err, conductor.ErrNameTaken) {
				return errors.New("the name is taken")
			}
			return err
		})
	}},
	{"a member whose name was refused to two others is removed", "the first member", removesTheSecond},
	{"names are compared before the member is stored", "of several concurrent joins", func(m *members) {
		compare := m.claim
		m.claim = func(self conductor.Member) bool {
			probe := self
			probe.ID = "probe of " + self.ID
			if !compare(probe) {
				return false
			}
			m.left(probe.ID)
			time.Sleep(time.Millisecond)
			m.add(self)
			return true
		}
	}},
	{"of two rivals none gets the name", "of several concurrent joins", func(m *members) {
		var mu sync.Mutex
		tries := map[string]int{}
		compare := m.claim
		m.claim = func(self conductor.Member) bool {
			mu.Lock()
			tries[self.Hostname]++
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			alone := tries[self.Hostname] < 4
			mu.Unlock()
			return alone && compare(self)
		}
	}},
	{"a lease is not renewed", "a member stays until it leaves", func(m *members) {
		m.renew = func(string) bool { return true }
	}},
	{"a lease is renewed while the caller waits for a list", "however slow its caller is", func(m *members) {
		var busy atomic.Int64
		renew := m.renew
		m.renew = func(id string) bool { return busy.Load() > 0 || renew(id) }
		m.join = func(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
			return func(yield func([]conductor.Member, error) bool) {
				m.joinOnce(ctx, self)(func(list []conductor.Member, err error) bool {
					busy.Add(1)
					defer busy.Add(-1)
					return yield(list, err)
				})
			}
		}
	}},
	{"Holds lasts as long as the lease, and a little longer", "alive is false, and holds", func(m *members) {
		m.holds = func(id string) bool {
			at, ok := m.renewed.Load(id)
			return ok && time.Since(at.(time.Time)) < lease*11/10
		}
	}},
	{"the others see a member leave early", "the others have seen a member leave", func(m *members) {
		m.listed = func(l *boardLease) bool { return time.Until(l.ends) > lease/2 }
	}},
	{"the loss is not an error", "join has ended without an error", func(m *members) {
		m.errs(func(err error) error {
			if errors.Is(err, errExpired) {
				err = nil
			}
			return err
		})
	}},
	{"Holds is true until Join has told the loss", "although the caller of Join is slow", func(m *members) {
		m.holds = func(id string) bool { _, ok := m.renewed.Load(id); return ok }
	}},
	{"the name of a dead one remains taken", "the name of a dead member", func(m *members) { m.patient = lease / 5 }},
	{"the name of a dead one is given at once", "another member has the name", func(m *members) {
		claim := m.claim
		m.claim = func(self conductor.Member) bool {
			m.locked(func(all map[string]*boardLease) {
				for id, l := range all {
					if l.Hostname == self.Hostname && time.Until(l.ends) < lease*4/5 {
						delete(all, id)
					}
				}
			})
			return claim(self)
		}
	}},
	{"Holds is what the last renewal has said", "after a suspension", func(m *members) {
		renewed := sync.Map{}
		renew := m.renew
		m.renew = func(id string) bool { renewed.Store(id, time.Now()); return renew(id) }
		m.holds = func(id string) bool {
			_, member := m.renewed.Load(id)
			at, ok := renewed.Load(id)
			return member && ok && time.Since(at.(time.Time)) < lease*2/3
		}
	}},
}

// add stores a member whose name may be taken.
func (m *members) add(self conductor.Member) {
	m.locked(func(all map[string]*boardLease) { all[self.ID] = &boardLease{self, time.Now().Add(lease)} })
}

// removesTheSecond removes the member whose name has been refused twice.
func removesTheSecond(m *members) {
	m.errs(func(err error) error {
		if errors.Is(err, conductor.ErrNameTaken) && m.refused.Add(1) == 2 {
			m.locked(func(all map[string]*boardLease) { clear(all) })
		}
		return err
	})
}
