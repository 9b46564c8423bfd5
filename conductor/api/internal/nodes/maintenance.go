// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// setMaintenance answers PUT /v1/nodes/NODE/maintenance.
func setMaintenance(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "reason")
	reason := a.Text("reason")
	return rest.Accepted, update(r, a, func(n *node) error {
		n.Maintenance = true
		n.MaintenanceReason = reason
		n.SetEmpty("maintenance_reason", a.Has("reason") && reason == "")
		return nil
	})
}

// clearMaintenance answers DELETE /v1/nodes/NODE/maintenance.
func clearMaintenance(r *rest.Request) (rest.Answer, error) {
	return rest.Accepted, update(r, r.QueryArgs(), func(n *node) error {
		n.Maintenance = false
		return nil
	})
}
