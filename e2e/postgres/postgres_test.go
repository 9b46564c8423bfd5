// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/storetest"
	"github.com/ironstate/ironstate/e2e/postgres"
)

func TestTheStoreKeepsItsPromises(t *testing.T) {
	at := start(t)
	require.NoError(t, storetest.Check(open(t, at, new(connection)), open(t, at, new(connection))))
}

func TestTheMembershipKeepsItsPromises(t *testing.T) {
	at := start(t)
	const ttl = 2 * time.Second
	way := new(connection)
	a, b := &postgres.Membership{Store: open(t, at, way), TTL: ttl}, &postgres.Membership{Store: open(t, at, new(connection)), TTL: ttl}
	first := storetest.Process{Membership: a, Cut: way.cut, Jump: a.Jump}
	require.NoError(t, storetest.CheckMembership(ttl, first, storetest.Process{Membership: b}))
}

func TestTheStoreOnOneServer(t *testing.T) {
	at := start(t)
	t.Run("a watch ends when it has missed deletions", func(t *testing.T) { checkLag(t, at) })
	t.Run("a watch that gets no notification reads once a second", func(t *testing.T) { checkPoll(t, at) })
	t.Run("a key may have any character", func(t *testing.T) {
		s := open(t, at, new(connection))
		r := conductor.Record{Kind: "keys", ID: "a", Keys: []string{"name=\x00"}}
		var err error
		r.Revision, err = s.Create(t.Context(), r)
		require.NoError(t, err)
		got, err := s.Get(t.Context(), "keys", "name=\x00")
		require.NoError(t, err)
		require.Equal(t, r.Revision, got.Revision)
	})
	t.Run("a database that cannot be reached is an error", func(t *testing.T) {
		way := new(connection)
		way.cut(true)
		config, err := pgxpool.ParseConfig(url(at))
		require.NoError(t, err)
		config.ConnConfig.DialFunc = way.dial
		_, err = postgres.Open(t.Context(), config)
		require.ErrorContains(t, err, "create the tables")
	})
}

// execute executes SQL on a connection of its own.
func execute(t *testing.T, at, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url(at))
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// watch begins a watch, and returns the function that returns its next change.
func watch(t *testing.T, s *postgres.Store, kind conductor.Kind) func() (conductor.Change, error) {
	t.Helper()
	pull, stop := iter.Pull2(s.Watch(t.Context(), kind))
	t.Cleanup(stop)
	return func() (conductor.Change, error) {
		change, err, ok := pull()
		require.True(t, ok)
		return change, err
	}
}

func checkLag(t *testing.T, at string) {
	s := open(t, at, new(connection))
	const kind = "lag"
	first, err := s.Create(t.Context(), conductor.Record{Kind: kind, ID: "a"})
	require.NoError(t, err)
	second, err := s.Create(t.Context(), conductor.Record{Kind: kind, ID: "b"})
	require.NoError(t, err)
	_, err = s.Delete(t.Context(), kind, "a", first)
	require.NoError(t, err)

	next := watch(t, s, kind)
	change, err := next()
	require.NoError(t, err)
	require.Equal(t, "b", change.Record.ID, "a deletion before the watch is not told")
	execute(t, at, "update counter set revision = revision + 100001")
	_, err = s.Delete(t.Context(), kind, "b", second)
	require.NoError(t, err)
	change, err = next()
	require.NoError(t, err)
	require.True(t, change.Synced)
	_, err = next()
	require.ErrorContains(t, err, "revisions behind")

	execute(t, at, `do $$ begin
		assert (select count(*) = 1 from records where kind = 'lag' and value is null), 'the older deletion is not kept';
	end $$`)
}

func checkPoll(t *testing.T, at string) {
	s := open(t, at, new(connection))
	next := watch(t, s, "poll")
	change, err := next()
	require.NoError(t, err)
	require.True(t, change.Synced)
	// As a writer whose notification is lost.
	execute(t, at, `with now as (update counter set revision = revision + 1 returning revision)
		insert into records select 'poll', 'a', '[]', revision, 'x' from now`)
	change, err = next()
	require.NoError(t, err)
	require.Equal(t, "a", change.Record.ID)
}
