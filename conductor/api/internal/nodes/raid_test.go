// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// TestRAIDValidationTextDependsOnTheSeries refuses an empty list, for which jsonschema 4.21, which the
// Ironics since 2026.1 use, has another text.
func TestRAIDValidationTextDependsOnTheSeries(t *testing.T) {
	config := map[string]any{"logical_disks": []any{}}
	for series, want := range map[states.Series]string{
		states.Flamingo: "[] is too short", states.Gazpacho: "[] should be non-empty", states.Hibiscus: "[] should be non-empty",
	} {
		require.EqualError(t, checkRAID(series, config), "400 Bad Request: RAID config validation error: "+want, "%v", series)
	}
}
