// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

var reason = text("reason")

// setMaintenance answers PUT /v1/nodes/NODE/maintenance.
var setMaintenance = checks{arguments(reason), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Accepted, q.update(func(n *node) error {
		n.Maintenance = true
		n.MaintenanceReason = reason.of(q)
		n.SetEmpty("maintenance_reason", reason.given(q) && n.MaintenanceReason == "")
		return nil
	})
})

// clearMaintenance answers DELETE /v1/nodes/NODE/maintenance.
var clearMaintenance = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Accepted, q.update(func(n *node) error {
		n.Maintenance = false
		return nil
	})
})
