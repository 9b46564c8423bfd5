// SPDX-License-Identifier: Apache-2.0

// Package sorted ranges over maps in the order of their keys, so that what depends on the order, such as which of
// several errors is returned, is the same each time.
package sorted

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// All ranges over the entries of a map by their keys.
func All[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
