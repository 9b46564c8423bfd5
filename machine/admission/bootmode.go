// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// Enrolls reports whether the operator allows nodes with a boot mode in their capabilities.
//
// Source: check_allow_boot_mode in ironic/api/controllers/v1/utils.py.
func (r Rules) Enrolls(mode string) bool {
	return r.before(states.Dalmatian) || !slices.Contains(r.DisallowedBootModes.Enrollment, mode)
}

// deploys reports whether the operator allows deployments with all of the boot modes.
//
// Source: validate_node in ironic/conductor/deployments.py.
func (r Rules) deploys(modes []string) bool {
	return r.before(states.Dalmatian) || !slices.ContainsFunc(modes, func(mode string) bool {
		return slices.Contains(r.DisallowedBootModes.Deployment, mode)
	})
}
