// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNullComesFirstAndNumbersAreComparedAsSuch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b any
		want int
	}{
		{nil, nil, 0},
		{nil, "", -1},
		{"", nil, 1},
		{"a", "b", -1},
		{"a", "a", 0},
		{false, true, -1},
		{json.Number("9"), json.Number("10"), -1},
		{json.Number("9"), "10", 1},
		{"9", json.Number("10"), 1},
		{json.Number("-9"), "-8", 1},
	} {
		require.Equal(t, c.want, compareValues(c.a, c.b), "%v, %v", c.a, c.b)
	}
}
