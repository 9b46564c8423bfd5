// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
)

// The samples of the comparisons with the Ironics of later series. The command lockstep makes all of them.
const (
	laterSeed  = 1
	laterOneIn = 60 // of the requests that are made in every state
	laterSteps = 60 // of random lives
	laterRows  = 20 // one of these applied events
)

// TestLaterIronics compares with the Ironics in the folders that IRONSTATE_IRONICS names, by samples that take about
// half a minute each on two idle cores.
func TestLaterIronics(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	needs.Installed(t, len(Folders()) > 0, "a folder with a later Ironic, named by "+FoldersVariable)
	for _, root := range Folders() {
		t.Run(filepath.Base(root), func(t *testing.T) {
			found, err := Find(t.Context(), root)
			require.NoError(t, err)
			if found.Newer {
				t.Logf("WARNING: Ironic %s is newer than the newest known series %v", found.Version, found.Series)
			}
			requireAllSame(t, &Ironic{Installation: found, sample: newSample(laterSeed, laterRows)}, compareTables, compareSteps)

			i := start(t, Options{Root: root, Config: lockAtOnce.Config})
			i.sample = newSample(laterSeed, laterOneIn)
			requireAllSame(t, i, compareRequests, compareFilter)
			requireAllSame(t, i, compareAdmission()...)
			requireAllSame(t, i, compareWalks(laterSteps), compareTakeOver, compareRecovery)
		})
	}
}
