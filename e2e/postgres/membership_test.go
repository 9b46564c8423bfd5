// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/e2e/postgres"
)

// severed is a store that a process may be cut off from.
type severed struct {
	conductor.Store
	cut atomic.Bool
	// forgets makes each third update fail although it was done.
	forgets bool
	updates atomic.Int64
}

var errCut = errors.New("cut off")

func (s *severed) err() error {
	if s.cut.Load() {
		return errCut
	}
	return nil
}

func (s *severed) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	if err := s.err(); err != nil {
		return conductor.Record{}, err
	}
	return s.Store.Get(ctx, kind, key)
}

func (s *severed) Create(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Create(ctx, r)
}

func (s *severed) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	revision, err := s.Store.Update(ctx, r)
	if s.forgets && s.updates.Add(1)%3 == 0 {
		err = errors.Join(err, errCut)
	}
	return revision, err
}

func (s *severed) Delete(ctx context.Context, kind conductor.Kind, id string, revision int64) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Delete(ctx, kind, id, revision)
}

func (s *severed) List(ctx context.Context, kind conductor.Kind, after string, limit int) ([]conductor.Record, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, kind, after, limit)
}

// The membership needs nothing of PostgreSQL. In memory and in virtual time it is checked within moments.
func TestTheMembershipKeepsItsPromisesOnAnyStore(t *testing.T) {
	for name, forgets := range map[string]bool{"each answer arrives": false, "answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ttl = 10 * time.Second
				shared := new(conductor.Memory)
				way := &severed{Store: shared, forgets: forgets}
				a, b := &postgres.Membership{Store: way, TTL: ttl}, &postgres.Membership{Store: shared, TTL: ttl}
				first := storetest.Process{Membership: a, Cut: way.cut.Store, Jump: a.Jump}
				require.NoError(t, storetest.CheckMembership(ttl, first, storetest.Process{Membership: b}))
			})
		})
	}
}

// The record of a process that has died is deleted by the one that takes its name. Its last renewal may come late.
func TestANameIsFreeOneLeaseAfterTheLastRenewalWasSeen(t *testing.T) {
	const ttl = 10 * time.Second
	for late, free := range map[time.Duration]time.Duration{0: ttl * 11 / 10, ttl * 45 / 100: ttl * 16 / 10} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(conductor.Memory)
				dead := conductor.Record{Kind: "members", ID: "dead", Keys: []string{"name=alpha"}, Value: []byte("{}")}
				var err error
				dead.Revision, err = store.Create(t.Context(), dead)
				require.NoError(t, err)
				if late > 0 {
					time.AfterFunc(late, func() { _, _ = store.Update(t.Context(), dead) })
				}
				begin := time.Now()
				m := &postgres.Membership{Store: store, TTL: ttl}
				for list, err := range m.Join(t.Context(), conductor.Member{ID: "b", Hostname: "alpha"}) {
					require.NoError(t, err)
					require.Len(t, list, 1)
					require.Equal(t, "b", list[0].ID)
					break
				}
				require.Equal(t, free, time.Since(begin), "the next look after the end of the lease")
				left, err := store.List(t.Context(), "members", "", 10)
				require.NoError(t, err)
				require.Empty(t, left)
			})
		})
	}
}

func TestAMemberOutlivesAStoreThatIsAwayForLessThanTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 10 * time.Second
		way := &severed{Store: new(conductor.Memory)}
		m := &postgres.Membership{Store: way, TTL: ttl}
		time.AfterFunc(ttl/20, func() { way.cut.Store(true) })
		time.AfterFunc(ttl/2, func() { way.cut.Store(false) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*ttl)
		defer cancel()
		for _, err := range m.Join(ctx, conductor.Member{ID: "a", Hostname: "alpha"}) {
			require.NoError(t, err)
		}
		require.Error(t, ctx.Err(), "the member has not left before")
	})
}

func TestAMemberWhoseRecordIsDeletedLosesItsMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(conductor.Memory)
		m := &postgres.Membership{Store: store, TTL: 10 * time.Second}
		var deleted time.Time
		for _, err := range m.Join(t.Context(), conductor.Member{ID: "a", Hostname: "alpha"}) {
			if !deleted.IsZero() {
				require.ErrorIs(t, err, postgres.ErrExpired)
				require.Equal(t, time.Second, time.Since(deleted), "the next look")
				break
			}
			deleted = time.Now()
			r, err := store.Get(t.Context(), "members", "name=alpha")
			require.NoError(t, err)
			_, err = store.Delete(t.Context(), "members", "a", r.Revision)
			require.NoError(t, err)
		}
		require.False(t, m.Holds("a"))
	})
}

func TestAnIDBelongsToOneMember(t *testing.T) {
	m := &postgres.Membership{Store: new(conductor.Memory), TTL: time.Minute}
	for _, err := range m.Join(t.Context(), conductor.Member{ID: "a", Hostname: "alpha"}) {
		require.NoError(t, err)
		for _, err := range m.Join(t.Context(), conductor.Member{ID: "a", Hostname: "beta"}) {
			var duplicate *conductor.DuplicateError
			require.ErrorAs(t, err, &duplicate)
		}
		break
	}
}
