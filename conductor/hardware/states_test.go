// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// TestEveryStateHasAnEntry fails for a work, or a state of no work, of which nobody has said whether the machine boots
// its instance then.
func TestEveryStateHasAnEntry(t *testing.T) {
	stable := map[states.State]bool{
		states.Enroll: false, states.Manageable: false, states.Available: false, states.Active: true, states.Rescue: false,
	}
	failed := map[states.Work]bool{
		states.WorkVerify: false, states.WorkInspect: false, states.WorkClean: false, states.WorkDeploy: false, states.WorkAdopt: false,
		states.WorkRescue: false, states.WorkUnrescue: true, states.WorkService: true, states.WorkDelete: false,
	}
	const missing = "say in conductor/hardware/published.go whether a machine boots its instance then (bootsInstance), and here"
	for w := range states.AllWorks() {
		require.Contains(t, failed, w, missing)
	}
	for s := range states.Latest().Table().States().All() {
		w := s.Work()
		if w == states.NoWork {
			require.Contains(t, stable, s, missing)
		}
		boots := stable[s] || failed[w] && s == w.Failed()
		require.Equal(t, boots, bootsInstance.Has(s), s)
		n := Node{Node: &conductor.Node{ProvisionState: s}, Chosen: Chosen{Deploy: Ramdisk()}}
		require.Equal(t, boots || w.InProgress().Has(s), mediaBoot{}.UsesMedia(n), s)
		n.Chosen.Deploy = Direct()
		require.Equal(t, w.InProgress().Has(s), mediaBoot{}.UsesMedia(n), s)
	}
}
