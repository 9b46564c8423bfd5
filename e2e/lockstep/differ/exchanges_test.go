// SPDX-License-Identifier: Apache-2.0

package differ

import (
	"flag"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/lockstep"
	"github.com/ironstate/ironstate/internal/exchanges"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
)

var recordLater = flag.Bool("later.record", false, "write the responses of the Ironic of 2026.2 to the exchanges of conductor/api")

// TestTheExchangesOfTheLatestIronicAreTheRecordedOnes plays the exchanges that the tests of conductor/api expect
// against the real Ironic of 2026.2, if IRONSTATE_IRONICS names its folder.
func TestTheExchangesOfTheLatestIronicAreTheRecordedOnes(t *testing.T) {
	needs.Time(t)
	needs.Turn(t)
	needs.Installed(t, len(lockstep.Folders()) > 0, "a folder with a later Ironic, named by "+lockstep.FoldersVariable)
	const file = "../../../conductor/api/testdata/later.txt"
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, root := range lockstep.Folders() {
		found, err := lockstep.Find(t.Context(), root)
		require.NoError(t, err)
		if found.Series != states.Hibiscus {
			continue
		}
		ironic, err := lockstep.Start(t.Context(), lockstep.Options{Root: root, Config: ironicConfig})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ironic.Close()) })
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		played, err := exchanges.Play(ironic.Endpoint(), string(recorded), map[string]string{"CONDUCTOR": lockstep.HostName})
		require.NoError(t, err)
		if *recordLater {
			require.NoError(t, os.WriteFile(file, []byte(played), 0o600))
			continue
		}
		require.Equal(t, string(recorded), played, "Ironic %s", found.Version)
	}
}
