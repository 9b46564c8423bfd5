// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

func TestSinceEpoxyOneStepIsNotAllowedByDefault(t *testing.T) {
	for series := range states.AllSeries() {
		r := admission.Rules{Table: series.Table()}
		for _, work := range []states.Work{states.WorkClean, states.WorkDeploy, states.WorkService} {
			require.Equal(t, series < states.Epoxy, r.AllowsStep(work, "vendor.send_raw"), "%v %v", series, work)
			require.True(t, r.AllowsStep(work, "vendor.other"), "%v %v", series, work)
			require.True(t, r.AllowsStep(work, "send_raw"), "%v %v", series, work)
		}
	}
}

func TestTheOperatorsListsReplaceTheDefault(t *testing.T) {
	for name, test := range map[string]struct {
		lists map[states.Work][]string
		want  []states.Work // in which bios.factory_reset is allowed
		raw   bool          // whether vendor.send_raw is allowed everywhere
	}{
		"none":  {nil, []states.Work{states.WorkClean, states.WorkDeploy, states.WorkService}, false},
		"empty": {map[states.Work][]string{}, []states.Work{states.WorkClean, states.WorkDeploy, states.WorkService}, true},
		"another": {map[states.Work][]string{states.WorkClean: {"bios.apply_configuration"}},
			[]states.Work{states.WorkClean, states.WorkDeploy, states.WorkService}, true},
		"one": {map[states.Work][]string{states.WorkClean: {"raid.create_configuration", "bios.factory_reset"}},
			[]states.Work{states.WorkDeploy, states.WorkService}, true},
		"two": {map[states.Work][]string{states.WorkDeploy: {"bios.factory_reset"}, states.WorkService: {"bios.factory_reset"}},
			[]states.Work{states.WorkClean}, true},
	} {
		for _, series := range []states.Series{states.Xena, states.Latest()} {
			r := admission.Rules{Table: series.Table(), DisallowedSteps: test.lists}
			var got []states.Work
			for _, work := range []states.Work{states.WorkClean, states.WorkDeploy, states.WorkService} {
				if r.AllowsStep(work, "bios.factory_reset") {
					got = append(got, work)
				}
				require.Equal(t, test.raw || series == states.Xena, r.AllowsStep(work, "vendor.send_raw"), "%s in %v", name, series)
			}
			require.Equal(t, test.want, got, "%s in %v", name, series)
		}
	}
}
