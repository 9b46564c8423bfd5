// SPDX-License-Identifier: Apache-2.0

package pyrepr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// The lines are those that pprint.pformat(value, width=72) of Python 3.11 returns.
func TestLongValuesPrintInLinesAsInPython(t *testing.T) {
	long := strings.Repeat("long ", 50)
	for _, c := range []struct {
		value any
		want  []string
	}{
		{nil, []string{"None"}},
		{"it's", []string{`"it's"`}},
		{[]any{"a", json.Number("1"), nil}, []string{"['a', 1, None]"}},
		{long, []string{
			`('long long long long long long long long long long long long long '`,
			` 'long long long long long long long long long long long long long '`,
			` 'long long long long long long long long long long long long long '`,
			` 'long long long long long long long long long long long ')`,
		}},
		{strings.Repeat("x", 100), []string{"'" + strings.Repeat("x", 100) + "'"}},
		{"a\n" + strings.Repeat("x ", 40), []string{
			`('a\n'`,
			` 'x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x '`,
			` 'x x x x x x ')`,
		}},
		{map[string]any{"b": long, "a": []any{long[:60], map[string]any{"c": true, "d": long[:40]}}}, []string{
			`{'a': ['long long long long long long long long long long long long ',`,
			`       {'c': True, 'd': 'long long long long long long long long '}],`,
			` 'b': 'long long long long long long long long long long long long '`,
			`      'long long long long long long long long long long long long '`,
			`      'long long long long long long long long long long long long '`,
			`      'long long long long long long long long long long long long '`,
			`      'long long '}`,
		}},
	} {
		require.Equal(t, strings.Join(c.want, "\n"), pyrepr.Pretty(c.value, 72))
	}
}
