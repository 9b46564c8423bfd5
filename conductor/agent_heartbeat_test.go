// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheWaitForTheAnswerToAHeartbeatIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"2026-11-23T09:00:00.000000": 200 * time.Millisecond, "2026-11-23T08:59:59.950000": 150 * time.Millisecond,
		"2026-11-23T10:00:00.000000": 200 * time.Millisecond, // another conductor's clock is ahead
		"":                           0, "yesterday": 0,
	} {
		n := &Node{DriverInternalInfo: map[string]any{"agent_last_heartbeat": text}}
		require.Equal(t, want, n.untilHeartbeatAnswered(now), text)
	}
	require.Zero(t, (&Node{}).untilHeartbeatAnswered(now))
	old := &Node{DriverInternalInfo: map[string]any{"agent_last_heartbeat": "2026-11-23T08:00:00.000000"}}
	require.LessOrEqual(t, old.untilHeartbeatAnswered(now), time.Duration(0))
}
