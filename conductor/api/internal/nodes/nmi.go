// SPDX-License-Identifier: Apache-2.0

package nodes

import "github.com/ironstate/ironstate/conductor/api/internal/rest"

// injectNMI answers PUT /v1/nodes/NODE/management/inject_nmi.
func injectNMI(r *rest.Request) (rest.Answer, error) {
	if err := r.CheckArgs(r.BodyArgs(rest.MaxBody)); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, hardwareFault(r.Conductor.Management(n.UUID).InjectNMI(r.Context()))
}
