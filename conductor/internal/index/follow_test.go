// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
)

// ids returns the IDs of the records of an index, oldest first.
func ids(x *Index[*Meta]) (ids []string) {
	for _, m := range x.All() {
		ids = append(ids, m.ID)
	}
	return ids
}

// written returns the write of a record.
func written(m Meta) Write[*Meta] {
	return Write[*Meta]{ID: m.ID, Revision: m.Revision, Decode: func() (*Meta, error) { return &m, nil }}
}

// reports is a watch of a store whose ranges yield writes, one list each, and then end. Its last range yields nothing,
// and ends with the context.
func reports(ctx context.Context, lists ...[]Write[*Meta]) iter.Seq2[Write[*Meta], error] {
	return func(yield func(Write[*Meta], error) bool) {
		if len(lists) == 0 {
			<-ctx.Done()
			return
		}
		list := lists[0]
		lists = lists[1:]
		for _, w := range list {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// stored is a store that yields nothing but Synced, and has the records of a list.
func stored(ids ...string) Source[*Meta] {
	return Source[*Meta]{
		Watch:  reports(context.Background(), []Write[*Meta]{{Synced: true}}),
		Exists: func(id string) (bool, error) { return slices.Contains(ids, id), nil },
	}
}

func TestANewWatchDropsTheRecordsThatItHasNotYieldedAndTheStoreDoesNotHave(t *testing.T) {
	x, at := newIndex(), time.Unix(0, 0)
	for _, id := range []string{"yielded", "deleted", "written by a late answer", "created since", "created again"} {
		x.put(&Meta{ID: id, Created: at, Revision: 1})
	}
	watch := reports(t.Context(), []Write[*Meta]{written(Meta{ID: "yielded", Revision: 1}), {Synced: true}})
	var asked []string
	exists := func(id string) (bool, error) {
		asked = append(asked, id)
		switch id {
		case "written by a late answer":
			x.Replace(&Meta{ID: id, Created: at, Revision: 2})
		case "created again":
			x.put(&Meta{ID: id, Created: at.Add(1), Revision: 3})
		}
		return id == "created since", nil
	}
	require.ErrorIs(t, x.followOnce(Source[*Meta]{watch, exists}, nil, nil), errWatchEnded)
	require.ElementsMatch(t, []string{"yielded", "created since", "created again"}, ids(x))
	require.Equal(t, []string{"created again", "created since", "deleted", "written by a late answer"}, asked)
}

func TestAnIndexIsNotSyncedWhileTheStoreDoesNotSayWhatItHas(t *testing.T) {
	x := newUnread()
	x.put(&Meta{ID: "a", Revision: 1})
	store, failure := stored("a"), errors.New("the store does not answer")
	store.Exists = func(string) (bool, error) { return true, failure }
	require.ErrorIs(t, x.followOnce(store, nil, nil), failure)
	require.False(t, x.Synced())
	require.NotEmpty(t, x.All())
	require.ErrorIs(t, x.followOnce(stored("a"), nil, nil), errWatchEnded)
	require.True(t, x.Synced())
	require.NotEmpty(t, x.All())
}

func TestAWatchThatHasEndedIsForgotten(t *testing.T) {
	x := newIndex()
	x.put(&Meta{ID: "a", Revision: 1})
	for range x.Watch(t.Context()) {
		require.Len(t, x.watchers, 1)
		break
	}
	require.Empty(t, x.watchers)
}

func TestAWatcherGetsTheRecordsThenTheZeroChangeThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		x, seen := newUnread(), make(chan Change[*Meta])
		a, b := &Meta{ID: "a", Revision: 1}, &Meta{ID: "b", Revision: 1}
		x.put(b)
		x.put(a)
		go func() {
			defer close(seen)
			for c := range x.Watch(ctx) {
				seen <- c
			}
		}()
		synctest.Wait()
		require.Empty(t, x.watchers, "the index is not complete")
		close(x.synced)
		require.Equal(t, Change[*Meta]{"a", a}, <-seen)
		require.Equal(t, Change[*Meta]{"b", b}, <-seen)
		require.Zero(t, <-seen)
		later := &Meta{ID: "a", Revision: 2}
		x.Replace(later)
		require.Equal(t, Change[*Meta]{"a", later}, <-seen)
		x.drop("b", 3)
		require.Equal(t, Change[*Meta]{ID: "b"}, <-seen)
		cancel()
		_, more := <-seen
		require.False(t, more)
		for range x.Watch(ctx) {
			t.Error("the context has ended")
		}
	})
}

func TestAnIndexFollowsTheWatchOfAStoreAndBeginsAgainASecondAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		x, log := newUnread(), &bytes.Buffer{}
		var changed []string
		one := Meta{ID: "one", Name: "first", Revision: 1}
		again := written(one)
		again.Decode = func() (*Meta, error) { t.Error("the index has the revision"); return nil, nil }
		noise := Write[*Meta]{ID: "noise", Revision: 2, Decode: func() (*Meta, error) { return nil, errors.New("no record") }}
		watch := reports(ctx,
			[]Write[*Meta]{written(one), noise, written(Meta{ID: "two", Revision: 3}), {ID: "two", Revision: 4, Deleted: true}},
			[]Write[*Meta]{again, written(Meta{ID: "three", Revision: 5}), written(Meta{ID: "four", Revision: 6}), {Synced: true}},
			[]Write[*Meta]{again, {Synced: true}, written(Meta{ID: "four", Revision: 8}), written(Meta{ID: "four", Revision: 9})},
		)
		ended := make(chan bool)
		go func() {
			store := Source[*Meta]{watch, stored("four").Exists}
			x.Follow(ctx, store, slog.New(slog.NewTextHandler(log, nil)), func(m *Meta) { changed = append(changed, m.ID) })
			close(ended)
		}()
		bubble.Sleep(watchBackoff - 1)
		require.Equal(t, []string{"one"}, ids(x))
		require.False(t, x.Synced(), "the watch has ended before it has yielded all records")
		bubble.Sleep(1)
		require.True(t, x.Synced())
		require.Equal(t, []string{"four", "one", "three"}, ids(x))
		bubble.Sleep(watchBackoff)
		require.Equal(t, []string{"four", "one"}, ids(x), "three was deleted while nobody watched")
		require.EqualValues(t, 9, x.Get("four").Revision)
		bubble.Sleep(watchBackoff)
		cancel()
		<-ended
		require.Equal(t, []string{"one", "two", "one", "three", "four", "one", "four", "four"}, changed)
		require.Contains(t, log.String(), `level=ERROR msg="a stored record cannot be read" id=noise error="no record"`)
		const warning = `level=WARN msg="watching the store failed" error="the watch has ended"`
		require.Equal(t, 3, strings.Count(log.String(), warning), "the end of the context is no failure")
	})
}

func TestTheErrorOfAWatchIsLoggedAndNoWriteIsTakenAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		x, log := newUnread(), &bytes.Buffer{}
		begun := 0
		watch := func(yield func(Write[*Meta], error) bool) {
			if begun++; begun == 2 {
				cancel()
			}
			require.False(t, yield(Write[*Meta]{Synced: true}, errors.New("the store does not answer")))
		}
		x.Follow(ctx, Source[*Meta]{Watch: watch}, slog.New(slog.NewTextHandler(log, nil)), nil)
		require.Equal(t, 2, begun)
		require.Equal(t, 1, strings.Count(log.String(), `"watching the store failed" error="the store does not answer"`), log.String())
		require.False(t, x.Synced())
		require.Equal(t, context.Canceled, x.Wait(ctx))
	})
}
