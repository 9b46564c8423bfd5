// SPDX-License-Identifier: Apache-2.0

package explorer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/ironstate/ironstate/internal/rapidseed"
)

// The counts equal the counts in a list of all transitions.
func TestRatesAreTheTransitionsOfEachMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r rates
		now := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "begin"), 0)
		all := map[int64]int{}
		for range rapid.IntRange(0, 20).Draw(t, "times") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "seconds")) * time.Second)
			n := rapid.IntRange(0, 3).Draw(t, "transitions")
			r.add(now, n)
			all[now.Unix()/60] += n
		}
		now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(t, "seconds")) * time.Second)
		var want []int
		for m := now.Unix()/60 - rateMinutes + 1; m <= now.Unix()/60; m++ {
			want = append(want, all[m])
		}
		require.Equal(t, want, r.perMinute(now))
	})
}
