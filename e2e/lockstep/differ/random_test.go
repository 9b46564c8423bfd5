// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/needs"
)

// The bounds, in percent of the answers.
const (
	maxListed      = 1   // of the intended differences
	maxUnlisted    = 1   // of the others, with an Ironic of a later series
	maxOtherStatus = 0.3 // of the others with another status
)

// answersOf makes the comparison with the Ironic in a folder. The requests are the same in each run, since one worker
// makes them.
func answersOf(t *testing.T, root string) *Result {
	run := Run{Root: root, Seed: seed, Round: 1, Requests: 2000, Workers: 1, Examples: 1}
	result, err := run.Do(t.Context())
	needs.Installed(t, !errors.Is(err, lockstep.ErrNotInstalled), "Ironic")
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, result.Write(&text))
	t.Logf("Ironic %s, compared as series %v", result.Ironic.Version, result.Ironic.Series)
	t.Log(text.String())
	require.GreaterOrEqual(t, result.Requests, run.Requests)
	return result
}

func TestRandomRequestsGetTheAnswersOfIronic(t *testing.T) {
	needs.Time(t)
	needs.Turn(t)
	result := answersOf(t, "")
	require.Empty(t, result.Unexpected())
	require.LessOrEqual(t, percent(result.Listed, result.Requests), float64(maxListed), "percent of intended differences")
}

// The Ironics are those in the folders that IRONSTATE_IRONICS names, which e2e/ironic/make.sh makes.
func TestRandomRequestsGetTheAnswersOfLaterIronics(t *testing.T) {
	needs.Time(t)
	needs.Turn(t)
	needs.Installed(t, len(lockstep.Folders()) > 0, "a folder with a later Ironic, named by "+lockstep.FoldersVariable)
	for _, root := range lockstep.Folders() {
		t.Run(filepath.Base(root), func(t *testing.T) {
			result := answersOf(t, root)
			if result.Ironic.Newer {
				t.Logf("WARNING: Ironic %s is newer than the newest known series %v", result.Ironic.Version, result.Ironic.Series)
			}
			require.LessOrEqual(t, percent(result.Different-result.Listed, result.Requests), float64(maxUnlisted),
				"percent of differences that are not intended")
			require.LessOrEqual(t, percent(result.Statuses, result.Requests), maxOtherStatus, "percent of another status")
		})
	}
}
