// SPDX-License-Identifier: Apache-2.0

package powersync_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// TestEveryStateHasAnEntry fails for a work, or a state of no work, of which nobody has said whether sync rounds skip
// nodes then.
func TestEveryStateHasAnEntry(t *testing.T) {
	stable := map[states.State]powersync.Outcome{
		states.Enroll: powersync.SkippedEnroll, states.Manageable: "", states.Available: "", states.Active: "", states.Rescue: "",
	}
	skipped := map[states.Work]map[states.State]powersync.Outcome{
		states.WorkVerify: nil, states.WorkInspect: nil, states.WorkRescue: nil, states.WorkUnrescue: nil, states.WorkService: nil,
		states.WorkDelete: nil,
		states.WorkClean:  {states.CleanWait: powersync.SkippedCleanWait},
		states.WorkDeploy: {states.DeployWait: powersync.SkippedDeployWait},
		states.WorkAdopt:  {states.AdoptFail: powersync.SkippedAdoptFail},
	}
	const missing = "say in powersync/decide.go whether sync rounds skip nodes then (skippedStates), and here"
	for w := range states.AllWorks() {
		require.Contains(t, skipped, w, missing)
	}
	for s := range states.Latest().Table().States().All() {
		of := skipped[s.Work()]
		if s.Work() == states.NoWork {
			of = stable
			require.Contains(t, stable, s, missing)
		}
		require.Equal(t, of[s], powersync.SkipSync(powersync.Record{ProvisionState: s}), s)
	}
}
