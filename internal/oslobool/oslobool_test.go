// SPDX-License-Identifier: Apache-2.0

package oslobool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/oslobool"
)

func TestParse(t *testing.T) {
	for value, words := range map[bool][]string{
		true: {"1", "t", "true", "on", "y", "yes", " TRUE "}, false: {"0", "f", "false", "off", "n", "no", "No\n"},
	} {
		for _, word := range words {
			got, ok := oslobool.Parse(word)
			require.True(t, ok, word)
			require.Equal(t, value, got, word)
		}
	}
	for _, word := range []string{"", "2", "tru", "none"} {
		_, ok := oslobool.Parse(word)
		require.False(t, ok, word)
	}
}
