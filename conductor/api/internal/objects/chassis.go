// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// Chassis returns the controller of /v1/chassis. nodes is the controller of the nodes of a chassis.
func Chassis(nodes *rest.Controller) *rest.Controller {
	c := chassisResource.controller()
	c.Subs = map[string]*rest.Controller{"nodes": nodes}
	return c
}

var chassisResource = &resource{
	of: &conductor.Chassis{}, path: "chassis", word: "chassis", noun: "Chassis",
	fields: []field{
		uuidField,
		extraField,
		{name: "description", types: schema.TextOrNull, max: 255},
	},
	links: map[string]link{"nodes": {since: since.First, nested: true}},
	list:  listRules{defaults: []string{"uuid", "description"}, detailSince: since.Detail},
	orders: orders{
		get:    []check{identValid, fieldsAllowed, recordExists, fieldsExist},
		patch:  []check{patchDecodes, fieldsPatchable, fieldsNotNewer, recordExists},
		update: []check{patchApplies, documentValid, fieldsSet, chassisUUIDKept, chassisTouched},
		delete: []check{identValid, recordExists, chassisEmpty},
	},
	inOrder:   true,
	patchable: []string{"uuid", "extra", "description"},
}

// CheckChassis returns the fault of a chassis that does not exist.
func CheckChassis(r *rest.Request, uuid string) error {
	_, err := chassisResource.find(r, uuid)
	return err
}

// chassisUUIDKept refuses a patch of the UUID of a chassis.
func chassisUUIDKept(q *request) error {
	if q.before.Meta().UUID != q.record.Meta().UUID {
		return fault.Invalid("Cannot overwrite UUID for an existing Chassis.")
	}
	return nil
}

// chassisTouched lets a patch that changes nothing change updated_at, as in Ironic.
func chassisTouched(q *request) error {
	changed := time.Unix(0, 0) // replaced when it is stored
	q.record.Meta().UpdatedAt = &changed
	return nil
}

// chassisEmpty refuses the deletion of a chassis that has nodes.
func chassisEmpty(q *request) error {
	uuid := q.record.Meta().UUID
	nodes, err := q.r.Conductor.Nodes(q.r.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n *conductor.Node) bool { return n.ChassisUUID == uuid }) {
		return fault.Invalid("Cannot complete the requested action because chassis %s contains nodes.", uuid)
	}
	return nil
}
