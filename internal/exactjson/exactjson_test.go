// SPDX-License-Identifier: Apache-2.0

package exactjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/exactjson"
)

func TestNumbersStayAsTheyAreWritten(t *testing.T) {
	for _, number := range []string{"0", "-0", "1.0", "1e400", "123456789012345678901234567890"} {
		var value any
		require.NoError(t, exactjson.Unmarshal([]byte(number), &value))
		require.Equal(t, json.Number(number), value)
	}
	var typed struct{ N int }
	require.NoError(t, exactjson.Unmarshal([]byte(`{"n": 3}`), &typed))
	require.Equal(t, 3, typed.N)
	require.NoError(t, exactjson.Unmarshal([]byte(" 1 \n"), new(any)))
	for _, text := range []string{"", "{", "1 2", "{} junk", "null]"} {
		require.Error(t, exactjson.Unmarshal([]byte(text), new(any)), text)
	}
}
