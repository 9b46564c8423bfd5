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
	"github.com/ironstate/ironstate/states"
)

// Chassis returns the controller of /v1/chassis and of the nodes of a chassis.
func Chassis(s *rest.Service) *rest.Controller {
	c := chassisResource.controller(s)
	c.Subs = map[string]*rest.Controller{"nodes": nodesOfChassis(s)}
	return c
}

var chassisResource = complete(resource{
	of: &conductor.Chassis{}, path: "chassis", word: "chassis", noun: "Chassis",
	schemas:     schemaRules{since: states.Hibiscus},
	schemaOrder: fieldOrder{"uuid", "extra", "description"},
	fields: []field{
		uuidField,
		extraField,
		{name: "description", types: schema.TextOrNull, max: 255},
	},
	links: []link{{name: "nodes", since: since.First, nested: true}},
	list:  listRules{defaults: []string{"uuid", "description"}, detailSince: since.Detail},
	orders: orders{
		get:    checks{fieldsDecode, queryInSchema, identValid, fieldsAllowed, recordExists, fieldsExist},
		patch:  checks{queryDecodes, patchDecodes, uuidInSchema, fieldsPatchable, fieldsInVersion, recordExists},
		update: checks{patchApplies, documentValid, fieldsSet, chassisUUIDKept, chassisTouched},
		delete: checks{noArguments, identValid, recordExists, chassisEmpty},
	},
	patching: patchRules{fields: []string{"uuid", "extra", "description"}},
})

// CheckChassis returns the fault of a chassis that does not exist.
func CheckChassis(r *rest.Request, uuid string) error {
	_, err := chassisResource.find(r, uuid)
	return err
}

// chassisUUIDKept refuses a patch of the UUID of a chassis.
func chassisUUIDKept(q *request) error {
	if q.store.meta(q.before).UUID != q.store.meta(q.record).UUID {
		return fault.Invalid("Cannot overwrite UUID for an existing Chassis.")
	}
	return nil
}

// chassisTouched lets a patch that changes nothing change updated_at, as in Ironic.
func chassisTouched(q *request) error {
	changed := time.Unix(0, 0) // replaced when it is stored
	q.record.(*conductor.Chassis).UpdatedAt = &changed
	return nil
}

// chassisEmpty refuses the deletion of a chassis that has nodes.
func chassisEmpty(q *request) error {
	uuid := q.store.meta(q.record).UUID
	nodes, err := q.r.Conductor.Nodes(q.r.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n *conductor.Node) bool { return n.ChassisUUID == uuid }) {
		return fault.Invalid("Cannot complete the requested action because chassis %s contains nodes.", uuid)
	}
	return nil
}
