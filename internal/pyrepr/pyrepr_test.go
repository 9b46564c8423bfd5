// SPDX-License-Identifier: Apache-2.0

package pyrepr_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/pyrepr"
)

// The right side is what Python 3.11 prints.
func TestValuesPrintAsInPython(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "None", `true`: "True", `false`: "False", `7`: "7", `123456789012345678901`: "123456789012345678901",
		`1.0`: "1.0", `2.50`: "2.5", `1e3`: "1000.0", `1e16`: "1e+16", `1e-5`: "1e-05", `0.0001`: "0.0001", `1e400`: "inf", `-1e400`: "-inf", `0.0`: "0.0",
		`""`: "''", `"a"`: "'a'", `"it's"`: `"it's"`, `"it's \"x\""`: `'it\'s "x"'`, `"\\"`: `'\\'`, `"a\n\t\r\u0000\u007f"`: `'a\n\t\r\x00\x7f'`,
		`"ü😀"`: "'ü😀'", `"\u00a0\u200b"`: `'\xa0\u200b'`,
		`[]`: "[]", `[1, "a", [null]]`: "[1, 'a', [None]]", `{}`: "{}", `{"b": 1, "a": {"c": false}}`: "{'a': {'c': False}, 'b': 1}",
	} {
		var v any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&v), text)
		require.Equal(t, want, pyrepr.Of(v), text)
	}
	require.Equal(t, "['fake', 'ipxe']", pyrepr.Of([]string{"fake", "ipxe"}))
	require.Equal(t, "[]", pyrepr.List(nil))
}
