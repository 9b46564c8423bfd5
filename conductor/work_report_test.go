// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreTheSameIfBothOrNeitherAreKnown(t *testing.T) {
	early, same, late := time.Unix(1, 0), time.Unix(1, 0), time.Unix(2, 0)
	for name, test := range map[string]struct {
		a, b *time.Time
		want bool
	}{
		"neither": {nil, nil, true}, "only the second": {nil, &early, false}, "only the first": {&early, nil, false},
		"equal": {&early, &same, true}, "different": {&early, &late, false},
	} {
		require.Equal(t, test.want, sameTime(test.a, test.b), name)
	}
}
