// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/etcd/internal/etcdtest"
)

func TestPrefixesAreIndependent(t *testing.T) {
	dir := t.TempDir()
	one := openLocal(t, dir, "/one")
	etcdtest.Create(t, one, "a", "name=a")
	require.NoError(t, one.Close())

	another := openLocal(t, dir, "/one/and/another")
	page, err := another.List(t.Context(), etcdtest.Kind, "", 10)
	require.NoError(t, err)
	require.Empty(t, page)
	etcdtest.Create(t, another, "a", "name=a")
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		config etcd.Config
		says   string
	}{
		"no servers":         {etcd.Config{}, "etcd: Endpoints is not set"},
		"a relative prefix":  {etcd.Config{Endpoints: []string{"http://h:1"}, Prefix: "ironstate"}, `etcd: Prefix is "ironstate": want`},
		"a prefix too long":  {etcd.Config{Endpoints: []string{"http://h:1"}, Prefix: "/ironstate/"}, "ends without one"},
		"no scheme":          {etcd.Config{Endpoints: []string{"etcd-1:2379"}}, `"etcd-1:2379" is not a URL`},
		"another scheme":     {etcd.Config{Endpoints: []string{"ftp://etcd-1:2379"}}, "https://etcd-1:2379"},
		"no port":            {etcd.Config{Endpoints: []string{"https://etcd-1"}}, "a host and a port"},
		"a path":             {etcd.Config{Endpoints: []string{"https://etcd-1:2379/v3"}}, "a host and a port"},
		"a password in URLs": {etcd.Config{Endpoints: []string{"https://root:secret@etcd-1:2379"}}, "use User and Password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := etcd.Open(t.Context(), c.config)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestTheMaximumNumberOfKeysCanBeReplaced(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	var first, second []string
	for i := range 48 {
		first, second = append(first, fmt.Sprint("first=", i)), append(second, fmt.Sprint("second=", i))
	}
	r := etcdtest.Create(t, s, "a", first...)
	r.Keys = second
	var err error
	r.Revision, err = s.Update(t.Context(), r)
	require.NoError(t, err)
	_, err = s.Delete(t.Context(), etcdtest.Kind, r.ID, r.Revision)
	require.NoError(t, err)
}

func TestARecordThatIsTooLargeIsAnErrorThatSaysSo(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	checkTooLarge(t, s, 2<<20)
}

func checkTooLarge(t *testing.T, s *etcd.Store, size int) {
	t.Helper()
	r := etcdtest.Create(t, s, fmt.Sprint(size))
	r.Value = make([]byte, size)
	_, err := s.Update(t.Context(), r)
	var tooLarge *etcd.TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	require.Equal(t, etcd.TooLargeError{Kind: etcdtest.Kind, ID: r.ID, Size: size}, *tooLarge)
	require.ErrorContains(t, err, "--max-request-bytes")
	require.ErrorIs(t, err, conductor.ErrTooLarge)
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	a := etcdtest.Create(t, s, "a")
	synced, ended := make(chan struct{}), make(chan error)
	go func() {
		var last error
		for change, err := range s.Watch(t.Context(), etcdtest.Kind) {
			if last = err; change.Synced {
				close(synced)
			}
		}
		ended <- last
	}()
	<-synced
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "twice")
	require.ErrorIs(t, <-ended, etcd.ErrClosed)

	_, err := s.Get(t.Context(), etcdtest.Kind, a.ID)
	require.ErrorIs(t, err, etcd.ErrClosed)
	_, err = s.List(t.Context(), etcdtest.Kind, "", 1)
	require.ErrorIs(t, err, etcd.ErrClosed)
	_, err = s.Update(t.Context(), a)
	require.ErrorIs(t, err, etcd.ErrClosed)
	count := 0
	for _, err := range s.Watch(t.Context(), etcdtest.Kind) {
		require.ErrorIs(t, err, etcd.ErrClosed)
		count++
	}
	require.Equal(t, 1, count)
}

func TestAStoreCanBeClosedFromTheBodyOfARange(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	etcdtest.Create(t, s, "a")
	var last error
	for _, err := range s.Watch(t.Context(), etcdtest.Kind) {
		require.NoError(t, s.Close())
		last = err
	}
	require.ErrorIs(t, last, etcd.ErrClosed)

	s = openLocal(t, t.TempDir(), "")
	for _, err := range s.Membership(0).Join(t.Context(), conductor.Member{ID: "a"}) {
		require.NoError(t, s.Close())
		last = err
	}
	require.ErrorIs(t, last, etcd.ErrClosed)
}

func TestAStoreCanBeClosedAtAnyMoment(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	begun, ended := make(chan struct{}, 8), make(chan error, 8)
	for i := range 8 {
		go func() {
			for n := 0; ; n++ {
				r := conductor.Record{Kind: etcdtest.Kind, ID: fmt.Sprintf("%d-%d", i, n)}
				_, err := s.Create(context.Background(), r)
				if err == nil {
					_, err = s.Get(context.Background(), etcdtest.Kind, r.ID)
				}
				if err != nil {
					ended <- err
					return
				}
				if n == 10 {
					begun <- struct{}{}
				}
			}
		}()
	}
	for range 8 {
		<-begun
	}
	require.NoError(t, s.Close())
	for range 8 {
		require.ErrorIs(t, <-ended, etcd.ErrClosed)
	}
}

func TestContextsEndRequests(t *testing.T) {
	s := openLocal(t, t.TempDir(), "")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a cause"))
	_, err := s.Get(ctx, etcdtest.Kind, "a")
	require.ErrorIs(t, err, context.Canceled)
	ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	_, err = s.Create(ctx, conductor.Record{Kind: etcdtest.Kind, ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
