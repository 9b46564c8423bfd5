// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// AllowsStep reports whether the operator allows a step, named by its interface and itself as
// "raid.create_configuration", in a cleaning, a deployment or a service.
//
// Source: ironic/conf/api.py.
func (r Rules) AllowsStep(work states.Work, step string) bool {
	if r.DisallowedSteps == nil {
		return step != "vendor.send_raw" || r.before(states.Epoxy)
	}
	return !slices.Contains(r.DisallowedSteps[work], step)
}
