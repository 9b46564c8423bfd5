// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// pairs calls each pair of the methods of a new value in two goroutines that only the value puts in an order: the race
// detector finds what a method does without the lock, whichever of the two is first.
func pairs[V any](make func() V, methods ...func(V)) {
	for _, one := range methods {
		for _, other := range methods {
			value := make()
			var both sync.WaitGroup
			both.Go(func() { one(value) })
			both.Go(func() { other(value) })
			both.Wait()
		}
	}
}

func TestAnyTwoMethodsOfAReservedRecordMayBeCalledAtOnce(t *testing.T) {
	n := &Node{UUID: "a"}
	pairs(func() *reservedRecord { return &reservedRecord{node: n} },
		func(r *reservedRecord) { r.get() },
		func(r *reservedRecord) { r.updateLater(func(*Node) {}) },
		func(r *reservedRecord) { r.set(n, 1) },
	)
}

// TestACallThatTwoFindAtOnceIsServedOnce serves a call as the watch and a periodic check may do at once, which both
// have found it unserved, and again after its caller has deleted it.
func TestACallThatTwoFindAtOnceIsServedOnce(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	s := &session{ctx: t.Context(), run: &run{ctx: t.Context(), work: t.Context()}}
	o, done := &callRecord{ObjectMeta: ObjectMeta{UUID: "a", Revision: 1}}, make(chan bool, 3)
	calls := c.fleet.of(kindCall)
	require.NoError(t, calls.Create(o, func() error { return nil }, nil))
	serve := func() { c.calls.serve(s, o, func(context.Context) callResult { done <- true; return callResult{} }) }
	serve()
	serve()
	s.run.group.Wait()
	require.Len(t, done, 1)
	require.NoError(t, calls.Delete("a", func() (int64, error) { return 2, nil }))
	c.calls.served.Clear() // as the next call does
	serve()
	s.run.group.Wait()
	require.Len(t, done, 1)
}
