// SPDX-License-Identifier: Apache-2.0

package nodes

import "github.com/ironstate/ironstate/conductor/api/internal/rest"

// injectNMI answers PUT /v1/nodes/NODE/management/inject_nmi.
var injectNMI = checks{arguments(), actionInVersion, nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.NoContent, hardwareFault(q.Conductor.Management(q.node.UUID).InjectNMI(q.Context()))
})

// actionInVersion refuses a version that does not have the action.
func actionInVersion(q *request) error { return q.CheckArgs(nil) }
