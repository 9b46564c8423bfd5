package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/etcd"
	"github.com/ironstate/ironstate/conductor/storetest"
)

const kind conductor.Kind = "nodes"

func open(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// create stores a record and returns it with its revision.
func create(t *testing.T, s conductor.Store, id string, keys ...string) conductor.Record {
	t.Helper()
	r := conductor.Record{Kind: kind, ID: id, Keys: keys, Value: []byte("{}")}
	revision, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	r.Revision = revision
	return r
}

func TestTheStoreInAFolderKeepsItsPromises(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	require.NoError(t, storetest.Check(s))
}

func TestAFolderKeepsItsRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "to", "be made")
	s := open(t, etcd.Config{Dir: dir})
	a := create(t, s, "a", "name=a")
	require.NoError(t, s.Close())

	s = open(t, etcd.Config{Dir: dir})
	got, err := s.Get(t.Context(), kind, "name=a")
	require.NoError(t, err)
	require.Equal(t, a, got)
	b := create(t, s, "b")
	require.Greater(t, b.Revision, a.Revision)

	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "the folder is its owner's alone: it has passwords")
}

func TestSerializableReadsInAFolderAreUpToDate(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Go(func() {
			r := conductor.Record{Kind: kind, ID: fmt.Sprint("node ", i)}
			for n := range 100 {
				var err error
				r.Keys, r.Value = []string{fmt.Sprintf("key %d of %d", n, i)}, fmt.Append(nil, n)
				if n == 0 {
					r.Revision, err = s.Create(t.Context(), r)
				} else {
					r.Revision, err = s.Update(t.Context(), r)
				}
				assert.NoError(t, err)
				for _, key := range []string{r.ID, r.Keys[0]} {
					got, err := s.Get(t.Context(), kind, key)
					assert.NoError(t, err)
					assert.Equal(t, r, got)
				}
			}
		})
	}
	writers.Wait()
}

func TestPrefixesAreIndependent(t *testing.T) {
	dir := t.TempDir()
	one := open(t, etcd.Config{Dir: dir, Prefix: "/one"})
	create(t, one, "a", "name=a")
	require.NoError(t, one.Close())

	another := open(t, etcd.Config{Dir: dir, Prefix: "/one/and/another"})
	page, err := another.List(t.Context(), kind, "", 10)
	require.NoError(t, err)
	require.Empty(t, page)
	create(t, another, "a", "name=a")
}

func TestAnInvalidConfigurationIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		config etcd.Config
		says   string
	}{
		"no location":        {etcd.Config{}, "neither Dir nor Endpoints"},
		"two locations":      {etcd.Config{Dir: "d", Endpoints: []string{"http://h:1"}}, "both Dir"},
		"a negative quota":   {etcd.Config{Dir: "d", Quota: -1}, "the Quota is -1 bytes"},
		"a relative prefix":  {etcd.Config{Dir: "d", Prefix: "ironstate"}, `the Prefix is "ironstate"`},
		"a prefix too long":  {etcd.Config{Dir: "d", Prefix: "/ironstate/"}, "end without one"},
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

func TestARecordThatCannotBeStoredIsRefused(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	many := strings.Fields(strings.Repeat("key ", 49))
	for name, c := range map[string]struct {
		record conductor.Record
		says   string
	}{
		"no kind":              {conductor.Record{ID: "a"}, `"" is not a kind`},
		"a kind with a slash":  {conductor.Record{Kind: "a/b", ID: "a"}, `"a/b" is not a kind`},
		"no ID":                {conductor.Record{Kind: kind}, "has no ID"},
		"an empty key":         {conductor.Record{Kind: kind, ID: "a", Keys: []string{""}}, `"" is not a key`},
		"a key that is binary": {conductor.Record{Kind: kind, ID: "a", Keys: []string{"\xff"}}, `"\xff" is not a key`},
		"too many keys":        {conductor.Record{Kind: kind, ID: "a", Keys: many}, "has 49 keys, the maximum is 48"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(t.Context(), c.record)
			require.ErrorContains(t, err, c.says)
			_, err = s.Update(t.Context(), c.record)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestTheMaximumNumberOfKeysCanBeReplaced(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	var first, second []string
	for i := range 48 {
		first, second = append(first, fmt.Sprint("first=", i)), append(second, fmt.Sprint("second=", i))
	}
	r := create(t, s, "a", first...)
	r.Keys = second
	var err error
	r.Revision, err = s.Update(t.Context(), r)
	require.NoError(t, err)
	_, err = s.Delete(t.Context(), kind, r.ID, r.Revision)
	require.NoError(t, err)
}

func TestARecordThatIsTooLargeIsAnErrorThatSaysSo(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	checkTooLarge(t, s, 2<<20)
}

func checkTooLarge(t *testing.T, s *etcd.Store, size int) {
	t.Helper()
	r := create(t, s, fmt.Sprint(size))
	r.Value = make([]byte, size)
	_, err := s.Update(t.Context(), r)
	var tooLarge *etcd.TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	require.Equal(t, etcd.TooLargeError{Kind: kind, ID: r.ID, Size: size}, *tooLarge)
	require.ErrorContains(t, err, "--max-request-bytes")
}

func TestAFullDatabaseIsAnErrorUntilThereIsSpace(t *testing.T) {
	const quota = 24 << 20
	dir := t.TempDir()
	s := open(t, etcd.Config{Dir: dir, Quota: quota})
	r, other := create(t, s, "kept", "name=kept"), create(t, s, "other")
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 100)
		r.Value = bytes.Repeat([]byte{byte(n)}, 1<<20)
		var revision int64
		if revision, err = s.Update(t.Context(), r); err == nil {
			r.Revision = revision
		}
	}
	require.ErrorIs(t, err, etcd.ErrNoSpace)
	require.ErrorContains(t, err, "compact, defragment and disarm")

	got, err := s.Get(t.Context(), kind, "name=kept")
	require.NoError(t, err)
	require.Equal(t, r.Revision, got.Revision, "what was stored can be read")
	_, err = s.Delete(t.Context(), kind, other.ID, other.Revision)
	require.NoError(t, err, "and deleted")

	require.NoError(t, s.MakeSpace(t.Context(), quota))
	r.Revision, err = s.Update(t.Context(), r)
	require.NoError(t, err, "old versions are space")
	_, err = s.Delete(t.Context(), kind, r.ID, r.Revision)
	require.NoError(t, err)
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	a := create(t, s, "a")
	synced, ended := make(chan struct{}), make(chan error)
	go func() {
		var last error
		for change, err := range s.Watch(t.Context(), kind) {
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

	_, err := s.Get(t.Context(), kind, a.ID)
	require.ErrorIs(t, err, etcd.ErrClosed)
	_, err = s.List(t.Context(), kind, "", 1)
	require.ErrorIs(t, err, etcd.ErrClosed)
	_, err = s.Update(t.Context(), a)
	require.ErrorIs(t, err, etcd.ErrClosed)
	for _, err := range s.Watch(t.Context(), kind) {
		require.ErrorIs(t, err, etcd.ErrClosed)
	}
}

func TestAStoreCanBeClosedFromTheBodyOfARange(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	create(t, s, "a")
	var last error
	for _, err := range s.Watch(t.Context(), kind) {
		require.NoError(t, s.Close())
		last = err
	}
	require.ErrorIs(t, last, etcd.ErrClosed)

	s = open(t, etcd.Config{Dir: t.TempDir()})
	for _, err := range s.Membership(0).Join(t.Context(), conductor.Member{ID: "a"}) {
		require.NoError(t, s.Close())
		last = err
	}
	require.ErrorIs(t, last, etcd.ErrClosed)
}

func TestAStoreCanBeClosedAtAnyMoment(t *testing.T) {
	s := open(t, etcd.Config{Dir: t.TempDir()})
	begun, ended := make(chan struct{}, 8), make(chan error, 8)
	for i := range 8 {
		go func() {
			for n := 0; ; n++ {
				r := conductor.Record{Kind: kind, ID: fmt.Sprintf("%d-%d", i, n)}
				_, err := s.Create(context.Background(), r)
				if err == nil {
					_, err = s.Get(context.Background(), kind, r.ID)
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
	s := open(t, etcd.Config{Dir: t.TempDir()})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a cause"))
	_, err := s.Get(ctx, kind, "a")
	require.ErrorIs(t, err, context.Canceled)
	ctx, stop := context.WithTimeout(t.Context(), time.Nanosecond)
	defer stop()
	_, err = s.Create(ctx, conductor.Record{Kind: kind, ID: "a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = etcd.Open(ctx, etcd.Config{Dir: t.TempDir()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestANilOrZeroStoreIsAnError(t *testing.T) {
	var wrong *conductor.ConfigError
	for _, m := range []*etcd.Membership{nil, new(etcd.Membership), (*etcd.Store)(nil).Membership(0)} {
		_, err := m.Alive(t.Context(), "a")
		require.ErrorAs(t, err, &wrong)
		for _, err := range m.Join(t.Context(), conductor.Member{ID: "a"}) {
			require.ErrorAs(t, err, &wrong)
		}
	}
}

func TestANilContextIsAnError(t *testing.T) {
	var none context.Context
	var wrong *conductor.ConfigError
	s := open(t, etcd.Config{Dir: t.TempDir()})
	_, err := s.Get(none, kind, "a")
	require.ErrorAs(t, err, &wrong)
	_, err = s.Update(none, conductor.Record{Kind: kind, ID: "a"})
	require.ErrorAs(t, err, &wrong)
	for _, err := range s.Watch(none, kind) {
		require.ErrorAs(t, err, &wrong)
	}
	for _, err := range s.Membership(0).Join(none, conductor.Member{ID: "a"}) {
		require.ErrorAs(t, err, &wrong)
	}
	_, err = etcd.Open(none, etcd.Config{Dir: t.TempDir()})
	require.ErrorAs(t, err, &wrong)
}

func TestEtcdsMessagesGoToTheLog(t *testing.T) {
	var b bytes.Buffer
	s := open(t, etcd.Config{Dir: t.TempDir(), Log: slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, s.Close())
	require.Contains(t, b.String(), `"level":"DEBUG","msg":"etcd: closed etcd server"`)
	require.Contains(t, b.String(), `"name":"ironstate"`)

	b.Reset()
	s = open(t, etcd.Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&b, nil))})
	create(t, s, "a")
	require.NoError(t, s.Close())
	require.Empty(t, b.String(), "nothing that an operator has to know")
}

func TestAnErrorThatEtcdRepairsByItselfIsNotAnErrorInTheLog(t *testing.T) {
	var b bytes.Buffer
	log := etcd.ZapLogger(slog.New(slog.NewTextHandler(&b, nil)), new(atomic.Bool))
	log.Error("failed to update storage version")
	require.Empty(t, b.String())
	log.Error("failed")
	require.Contains(t, b.String(), `level=ERROR msg="etcd: failed"`)
}
