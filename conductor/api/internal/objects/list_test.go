// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
)

func TestNullComesFirstAndNumbersAndTimesAreComparedAsSuch(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(9, 0), time.Unix(10, 0)
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
		{nil, &early, -1},
		{&late, nil, 1},
		{&early, &late, -1},
		{&late, &early, 1},
		{&late, &late, 0},
	} {
		require.Equal(t, c.want, compareValues(c.a, c.b), "%v, %v", c.a, c.b)
	}
}

func TestTheFirstRecordsThatPass(t *testing.T) {
	t.Parallel()
	all := []*conductor.Port{{IsSmartNIC: new(bool)}, {}, {IsSmartNIC: new(bool)}, {}, {}}
	calls := 0
	plain := func(o record) bool { calls++; return o.(*conductor.Port).IsSmartNIC == nil }
	records, err := first(slices.Values(all), nil, 2, plain)
	require.NoError(t, err)
	require.Equal(t, []record{all[1], all[3]}, records)
	require.Equal(t, 4, calls, "it looks no further than it has to")
	records, err = first(slices.Values(all), nil, -1, plain)
	require.NoError(t, err)
	require.Len(t, records, 3)
	_, err = first[*conductor.Port](nil, conductor.NotFound, 2, plain)
	require.ErrorIs(t, err, conductor.NotFound)
}
