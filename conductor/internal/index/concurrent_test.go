// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ironstate/ironstate/states"
)

// The race detector finds what a method does without the lock, whichever of the two is first.
func TestAnyTwoMethodsOfAnIndexMayBeCalledAtOnce(t *testing.T) {
	ctx := context.Background()
	record := func(id string, revision int64) *Meta {
		return &Meta{ID: id, Name: id, Created: time.Unix(1, 0), State: states.Active, Revision: revision}
	}
	methods := []func(*Index[*Meta]){
		func(x *Index[*Meta]) { x.put(record("a", 2)) },
		func(x *Index[*Meta]) { x.put(record("b", 3)) },
		func(x *Index[*Meta]) { x.Replace(record("a", 4)) },
		func(x *Index[*Meta]) { _ = x.Create(record("c", 5), func() error { return nil }, stored().Exists) },
		func(x *Index[*Meta]) { _ = x.Delete("a", func() (int64, error) { return 6, nil }) },
		func(x *Index[*Meta]) { x.drop("a", 7) },
		func(x *Index[*Meta]) { x.Get("a") },
		func(x *Index[*Meta]) { x.Named("a") },
		func(x *Index[*Meta]) { _ = x.Wait(ctx) },
		func(x *Index[*Meta]) { x.All() },
		func(x *Index[*Meta]) { _, _ = x.Count(ctx, states.SetOf(states.Active)) },
		func(x *Index[*Meta]) { _, _ = x.ListOf(ctx, "") },
		func(x *Index[*Meta]) { x.HasOlder(record("a", 8)) },
		func(x *Index[*Meta]) { x.Owners() },
		func(x *Index[*Meta]) { x.Unreported() },
		func(x *Index[*Meta]) { _ = x.followOnce(stored("b"), nil, nil) },
		func(x *Index[*Meta]) {
			if all, err := x.Select(ctx, Range{After: "a"}); err == nil {
				for range all {
				}
			}
		},
		func(x *Index[*Meta]) {
			for range x.Watch(ctx) {
				break
			}
		},
	}
	for _, one := range methods {
		for _, other := range methods {
			x := newIndex()
			x.put(record("a", 1))
			var both sync.WaitGroup
			both.Go(func() { one(x) })
			both.Go(func() { other(x) })
			both.Wait()
		}
	}
}
