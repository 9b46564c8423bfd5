// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnOrderIsAWholeNumberOrItsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  int
		ok    bool
	}{
		{json.Number("0"), 0, true},
		{json.Number("7"), 7, true},
		{json.Number("7.0"), 7, true},
		{json.Number("1e2"), 100, true},
		{json.Number("-1"), -1, false},
		{json.Number("1.5"), 1, false},
		{"0", 0, true},
		{"7", 7, true},
		{"-1", -1, false},
		{"x", 0, false},
		{true, 0, false},
		{nil, 0, false},
	} {
		n, ok := WholeNumber(c.value)
		require.Equal(t, c.ok, ok, "%v", c.value)
		require.Equal(t, c.want, n, "%v", c.value)
	}
	_, ok := WholeNumber(json.Number("1e999"))
	require.False(t, ok)
}

func TestIntegers(t *testing.T) {
	for text, want := range map[string]bool{
		"9223372036854775807":    true,
		"9223372036854775808":    false,
		"9223372036854775808.0":  false,
		"-9223372036854775808":   true,
		"-9223372036854775808.0": true,
		"-9223372036854777856":   false,
		"1e18":                   true,
		"-1.5":                   false,
	} {
		_, ok := integer(json.Number(text))
		require.Equal(t, want, ok, text)
	}
}
