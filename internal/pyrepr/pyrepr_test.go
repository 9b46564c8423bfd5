// SPDX-License-Identifier: Apache-2.0

package pyrepr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&v), text)
	return v
}

// The right side is Python 3.11's output.
func TestValuesPrintAsInPython(t *testing.T) {
	for text, want := range map[string]string{
		`null`:                        "None",
		`true`:                        "True",
		`false`:                       "False",
		`7`:                           "7",
		`123456789012345678901`:       "123456789012345678901",
		`1.0`:                         "1.0",
		`2.50`:                        "2.5",
		`1e3`:                         "1000.0",
		`1e16`:                        "1e+16",
		`1e-5`:                        "1e-05",
		`0.0001`:                      "0.0001",
		`1e400`:                       "inf",
		`-1e400`:                      "-inf",
		`0.0`:                         "0.0",
		`""`:                          "''",
		`"a"`:                         "'a'",
		`"it's"`:                      `"it's"`,
		`"it's \"x\""`:                `'it\'s "x"'`,
		`"\\"`:                        `'\\'`,
		`"a\n\t\r\u0000\u007f"`:       `'a\n\t\r\x00\x7f'`,
		`"ü😀"`:                        "'ü😀'",
		`"\u00a0\u200b"`:              `'\xa0\u200b'`,
		`[]`:                          "[]",
		`[1, "a", [null]]`:            "[1, 'a', [None]]",
		`{}`:                          "{}",
		`{"b": 1, "a": {"c": false}}`: "{'a': {'c': False}, 'b': 1}",
	} {
		require.Equal(t, want, pyrepr.Of(decode(t, text)), text)
	}
	require.Equal(t, "['fake', 'ipxe']", pyrepr.Of([]string{"fake", "ipxe"}))
	require.Equal(t, "[]", pyrepr.List(nil))
}

func TestTheKeysOfAnOrderComeFirst(t *testing.T) {
	t.Parallel()
	object := map[string]any{"d": nil, "c": true, "b": "x", "a": []any{}}
	require.Equal(t, "{'c': True, 'b': 'x', 'a': [], 'd': None}", pyrepr.Object(object, []string{"c", "missing", "b"}))
	require.Equal(t, "{}", pyrepr.Object(nil, []string{"c"}))
}

func TestTruthMatchesPython(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`null`: false, `true`: true, `false`: false, `""`: false, `"a"`: true, `0`: false, `0.0`: false, `-1`: true,
		`[]`: false, `[null]`: true, `{}`: false, `{"a": null}`: true,
	} {
		require.Equal(t, want, pyrepr.Truthy(decode(t, value)), value)
	}
	require.True(t, pyrepr.Truthy(struct{}{}))
	require.True(t, pyrepr.Truthy(0.5))
	require.False(t, pyrepr.Truthy(0.0))
}
