// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// OfChassis returns the controller of the nodes of a chassis.
func OfChassis(s *rest.Service) *rest.Controller {
	chassis, bodies := []string{"chassis_uuid"}, schemas{created: schemaOf(s, true)}
	return &rest.Controller{Lookup: rest.Below("node", 0, nil), Actions: rest.Actions{
		rest.All: {Serve: listing{ofChassis: true}.serve, Idents: chassis},
		"detail": {Method: http.MethodGet, Serve: listing{ofChassis: true, details: true}.serve, Idents: chassis},
		"post":   {Serve: bodies.forbidCreate, NoArgs: true, Body: "node"},
		rest.One: {Serve: forbidShow, Optional: rest.AnyNumber},
		"patch":  {Serve: forbidPatch, Idents: rest.NodeIdent, Args: []string{"reset_interfaces"}, Body: "patch"},
		"delete": {Serve: forbidDelete, Idents: rest.NodeIdent, Optional: rest.AnyNumber},
	}}
}

// Ironic does not permit a request for one node below its chassis, but checks the arguments and the body before it says so.

// forbidShow answers GET /v1/chassis/CHASSIS/nodes/NODE.
func forbidShow(r *rest.Request) (rest.Answer, error) {
	return rest.Answer{}, cmp.Or[error](r.QueryArgs("fields", "node_ident").Err, fault.NotPermitted)
}

// forbidCreate answers POST /v1/chassis/CHASSIS/nodes.
func (s schemas) forbidCreate(r *rest.Request) (rest.Answer, error) {
	_, err := s.decode(r)
	return rest.Answer{}, cmp.Or[error](err, fault.NotPermitted)
}

// forbidPatch answers PATCH /v1/chassis/CHASSIS/nodes.
func forbidPatch(r *rest.Request) (rest.Answer, error) {
	if _, _, err := decodePatch(r); err != nil && !errors.Is(err, patch.ErrNull) {
		return rest.Answer{}, err
	}
	return rest.Answer{}, fault.NotPermitted
}

// forbidDelete answers DELETE /v1/chassis/CHASSIS/nodes.
func forbidDelete(r *rest.Request) (rest.Answer, error) {
	if len(r.Params) > 1 {
		return rest.Answer{}, fault.NoSuchResource
	}
	return rest.Answer{}, fault.NotPermitted
}
