// SPDX-License-Identifier: Apache-2.0

package jsonsize_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/internal/jsonsize"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

// count returns the number of values of a decoded text, its depth, and whether it has an empty array or object.
func count(value any) (values, depth int, empty bool) {
	values = 1
	var members []any
	switch value := value.(type) {
	case map[string]any:
		depth, empty = 1, len(value) == 0
		for _, member := range value {
			members = append(members, member)
		}
	case []any:
		depth, empty = 1, len(value) == 0
		members = value
	}
	below := 0
	for _, member := range members {
		n, d, e := count(member)
		values, below, empty = values+n, max(below, d), empty || e
	}
	return values, depth + below, empty
}

func value(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.String().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(),
		rapid.SampledFrom([]string{`"[{,`, `\`, `a"b\\`, ""}).AsAny())
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
}

func TestMeasureIsTheNumberAndTheDepthOfTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(value(4).Draw(t, "value"))
		require.NoError(t, err)
		var decoded any
		require.NoError(t, json.Unmarshal(text, &decoded))
		wantValues, wantDepth, empty := count(decoded)
		values, depth := jsonsize.Measure(text)
		require.Equal(t, wantDepth, depth)
		if empty {
			require.GreaterOrEqual(t, values, wantValues)
		} else {
			require.Equal(t, wantValues, values)
		}
	})
}
