// SPDX-License-Identifier: Apache-2.0

package sorted_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/sorted"
)

func TestTheKeysAreInOrder(t *testing.T) {
	var keys []string
	for key, value := range sorted.All(map[string]int{"b": 2, "c": 3, "a": 1}) {
		keys = append(keys, key)
		if value == 2 {
			break
		}
	}
	require.Equal(t, []string{"a", "b"}, keys)
}
