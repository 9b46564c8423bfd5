// SPDX-License-Identifier: Apache-2.0

package inorder_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/inorder"
)

// recorder is a function to call, which records its calls.
type recorder struct {
	calls, dropped []string
}

func (r *recorder) call(key, change string) { r.calls = append(r.calls, key+change) }
func (r *recorder) drop(key, change string) { r.dropped = append(r.dropped, key+change) }

func TestTheChangesOfARecordAreCalledInTheOrderOfTheirRevisions(t *testing.T) {
	r := &recorder{}
	qs := inorder.New(10, r.call, r.drop)
	first, second := qs.Writing(), qs.Writing()
	first.Begin("a", 1)
	second.Begin("a", 2) // the first write is stored, and who has written it does not know it yet
	qs.Add("a", 3, "3")
	second.End()
	require.Empty(t, r.calls, "the first write may precede it")
	qs.Add("a", 2, "2")
	first.End()
	require.Equal(t, []string{"a2", "a3"}, r.calls)
	require.Zero(t, qs.Len())
}

func TestAWriteOfALaterRevisionOrAnotherRecordDelaysNoChange(t *testing.T) {
	r := &recorder{}
	qs := inorder.New(10, r.call, r.drop)
	for key, base := range map[string]int64{"a": 2, "b": 1} {
		qs.Writing().Begin(key, base)
	}
	w := qs.Writing()
	w.Begin("a", 1)
	qs.Add("a", 2, "2")
	w.End()
	require.Equal(t, []string{"a2"}, r.calls)
	require.Equal(t, 2, qs.Len(), "the writes in flight")
}

func TestAWriteThatWasInVainMayBeginAgain(t *testing.T) {
	r := &recorder{}
	qs := inorder.New(10, r.call, r.drop)
	w := qs.Writing()
	w.End()
	w.Begin("a", 1)
	w.End()
	require.Zero(t, qs.Len())
	w.Begin("a", 2)
	qs.Add("a", 3, "x")
	qs.Add("a", 3, "y") // a write of two changes
	w.End()
	w.End()
	require.Equal(t, []string{"ax", "ay"}, r.calls)
	require.Zero(t, qs.Len())
}

func TestACallMayWriteItsRecord(t *testing.T) {
	r := &recorder{}
	var qs *inorder.Queues[string]
	qs = inorder.New(10, func(key, change string) {
		inVain := qs.Writing()
		inVain.Begin(key, 2)
		inVain.End()
		if r.call(key, change); change == "first" {
			write(qs, key, 3, "second")
			require.Equal(t, []string{"afirst"}, r.calls, "the second call follows the first")
		}
	}, r.drop)
	write(qs, "a", 2, "first")
	require.Equal(t, []string{"afirst", "asecond"}, r.calls)
	require.Zero(t, qs.Len())
}

func TestAFullQueueDropsItsFirstChanges(t *testing.T) {
	r := &recorder{}
	qs := inorder.New(2, r.call, r.drop)
	w := qs.Writing()
	w.Begin("a", 0)
	for revision, change := range []string{"0", "1", "2", "3"} {
		qs.Add("a", int64(revision), change)
	}
	w.End()
	require.Equal(t, []string{"a0", "a1"}, r.dropped)
	require.Equal(t, []string{"a2", "a3"}, r.calls)
}

func TestNothingIsQueuedForNobody(t *testing.T) {
	qs := inorder.New[string](0, nil, nil)
	w := qs.Writing()
	w.Begin("a", 1)
	qs.Add("a", 2, "2")
	require.Zero(t, qs.Len())
	w.End()
}

// write adds a change by a write.
func write(qs *inorder.Queues[string], key string, revision int64, change string) {
	w := qs.Writing()
	w.Begin(key, revision-1)
	qs.Add(key, revision, change)
	w.End()
}

func TestACallDelaysNeitherWritersNorOtherRecordsAndNeverOverlapsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group sync.WaitGroup
		var mu sync.Mutex
		r, goOn := &recorder{}, make(chan struct{})
		calls := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(r.calls)
		}
		qs := inorder.New(10, func(key, change string) {
			if key == "slow" {
				<-goOn
			}
			mu.Lock()
			defer mu.Unlock()
			r.call(key, change)
		}, r.drop)
		qs.RunIn(&group)
		for revision, change := range []string{"1", "2", "3"} {
			write(qs, "slow", int64(revision+1), change)
		}
		write(qs, "quick", 1, "1")
		require.Equal(t, []string{"quick1"}, calls())
		goOn <- struct{}{}
		require.Equal(t, []string{"quick1", "slow1"}, calls())
		close(goOn)
		group.Wait()
		require.Equal(t, []string{"quick1", "slow1", "slow2", "slow3"}, calls())
		require.Zero(t, qs.Len())

		qs.RunIn(nil)
		write(qs, "last", 1, "1")
		require.Equal(t, "last1", r.calls[len(r.calls)-1], "the writer has called")
	})
}
