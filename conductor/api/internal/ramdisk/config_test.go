// SPDX-License-Identifier: Apache-2.0

package ramdisk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

func TestAnAgentNeedNotLookForABMCThatIronicKnows(t *testing.T) {
	t.Parallel()
	for management, want := range map[string][2]bool{ // before 2026.2, and since
		"redfish": {true, true}, "idrac-redfish": {true, true}, "ilo": {true, false}, "ilo5": {true, false}, "ilo6": {true, false},
		"irmc": {true, false}, "ipmitool": {false, false}, "": {false, false},
	} {
		require.Equal(t, want, [2]bool{knowsBMC(states.Gazpacho, management), knowsBMC(states.Hibiscus, management)}, management)
	}
}
