// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func TestBootModesAreRefusedSince2024_2(t *testing.T) {
	modes := admission.BootModes{Enrollment: []string{"bios"}, Deployment: []string{"uefi"}}
	for _, series := range []states.Series{states.Caracal, states.Dalmatian, states.Latest()} {
		rules := admission.Rules{Table: series.Table(), DisallowedBootModes: modes}
		known := series >= states.Dalmatian
		require.Equal(t, !known, rules.Enrolls("bios"), series)
		require.True(t, rules.Enrolls("uefi"), series)
		for _, e := range []states.Event{states.EventDeploy, states.EventRebuild, states.EventDelete} {
			f := admission.NodeFields{State: states.Active, BootModes: []string{"bios", "uefi"}}
			err := rules.Start(f, e)
			if known && e != states.EventDelete {
				require.ErrorIs(t, err, admission.Invalid, "%v %v", series, e)
				f.Protected = true
				if e == states.EventRebuild {
					require.ErrorIs(t, rules.Start(f, e), admission.IsProtected, "the first check")
				}
			} else {
				require.NoError(t, err, "%v %v", series, e)
			}
			require.NoError(t, rules.Start(admission.NodeFields{State: states.Active, BootModes: []string{"bios"}}, e))
		}
	}
}
