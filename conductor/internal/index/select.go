// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// Range selects records of one kind. The zero value selects all, oldest first.
type Range struct {
	// Of selects the records with this Meta.Node, "" those without one; nil selects both.
	Of *string
	// After is the ID of a record, empty for none. The range begins with the next one.
	After string
	// Backwards orders the records from the newest to the oldest.
	Backwards bool
}

// ErrNoRecord says that the record Range.After does not exist.
var ErrNoRecord = errors.New("the record before the range does not exist")

// scanned is the number of records that Select copies at a time.
const scanned = 256

// Select waits until the index has all records of the store, and returns the records of a range. It does not
// visit the others. A record that is written meanwhile may be yielded or not. The error is
// [ErrNoRecord] if the record After does not exist, or the context's.
func (x *Index[R]) Select(ctx context.Context, r Range) (iter.Seq[R], error) {
	if err := x.Wait(ctx); err != nil {
		return nil, err
	}
	var first *Meta
	if r.After != "" {
		x.mu.RLock()
		after, has := x.records[r.After]
		x.mu.RUnlock()
		if !has {
			return nil, ErrNoRecord
		}
		m := x.meta(after)
		first = &m
	}
	return func(yield func(R) bool) {
		for after := first; ; {
			part := x.part(r.Of, after, r.Backwards)
			for _, value := range part {
				if !yield(value) {
					return
				}
			}
			if len(part) < scanned {
				return
			}
			last := x.meta(part[scanned-1])
			after = &last
		}
	}, nil
}

// part returns the next records of a range, at most scanned.
func (x *Index[R]) part(of *string, after *Meta, backwards bool) []R {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := x.order
	if of != nil {
		list = x.byNode[*of]
	}
	switch {
	case after == nil:
	case backwards:
		list = list[:x.position(list, *after)]
	default:
		list = list[x.position(list, *after):]
		if len(list) > 0 && x.meta(list[0]).compare(*after) == 0 {
			list = list[1:]
		}
	}
	if !backwards {
		return slices.Clone(list[:min(scanned, len(list))])
	}
	part := slices.Clone(list[max(0, len(list)-scanned):])
	slices.Reverse(part)
	return part
}
