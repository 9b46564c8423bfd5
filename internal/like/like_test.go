// SPDX-License-Identifier: Apache-2.0

package like_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ironstate/ironstate/internal/like"
	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"%", "", true}, {"%%", "abc", true}, {"_", "", false}, {"_", "é", true},
		{"a%", "Abc", true}, {"%c", "abC", true}, {"a_c", "abc", true}, {"a_c", "ac", false},
		{"%ab%ab%", "xabyab", true}, {"%ab%ab%", "xabb", false}, {"%.*%", "a.*b", true}, {"%.*%", "axb", false},
		{"%K%", "\u212a", true}, {"a\n%", "a\nb", true},
	} {
		require.Equal(t, c.want, like.Compile(c.pattern).Matches(c.text), "%q, %q", c.pattern, c.text)
	}
}

func TestAPatternIsTheRegularExpression(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		characters := rapid.SliceOf(rapid.SampledFrom([]rune("aAbB%_.é")))
		pattern, text := string(characters.Draw(t, "pattern")), string(characters.Draw(t, "text"))
		expression := regexp.MustCompile("(?is)^" + strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(pattern)) + "$")
		require.Equal(t, expression.MatchString(text), like.Compile(pattern).Matches(text))
	})
}

// A pattern longer than the text is refused without a comparison.
func TestALongPatternOfWildcardsIsCheap(t *testing.T) {
	pattern, text := like.Compile(strings.Repeat("%_", 16_000)), strings.Repeat("a", 4096)
	for range 10_000 {
		require.False(t, pattern.Matches(text))
	}
}
