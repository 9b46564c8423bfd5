// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/machine/admission"
)

// usual are the checks in the order of most resources. Ironic has separate code for each resource, and answers a
// request that has several faults with the first one that this code finds.
//
// Source: the methods get_all, get_one, post, patch and delete of the controllers in ironic/api/controllers/v1, and the
// methods that they call in ironic/conductor/manager.py.
var usual = orders{
	list: listChecks{
		parametersDecode, parametersInSchema, parentExists, listFieldsAllowed, sortKeyInVersion, filtersInVersion, fieldsChosen, pageValid,
		markerExists, sortKeyHasOrder, filtersApply, recordsOnPage, listFieldsExist,
	},
	get:    checks{fieldsDecode, queryInSchema, identValid, recordExists, fieldsAllowed, fieldsExist},
	post:   checks{bodyDecodes, bodyValid, fieldsSet, postInVersion, notNested, fieldsInVersion},
	patch:  checks{queryDecodes, identValid, patchDecodes, fieldsPatchable, fieldsInVersion, recordExists},
	update: checks{patchApplies, documentValid, fieldsSet},
	delete: checks{noArguments, identValid, recordExists},
}

// orders are the checks of a resource's requests in their order; nil stands for the usual one. Only the check
// physicalNetworkShared changes a record in the store: Ironic stores the port group there, even if it refuses the
// request later.
type orders struct {
	list, details            listChecks // details of a list whose path ends in /detail, where nil stands for list
	get, post, patch, delete checks
	update                   checks // of a PATCH, on the record about to be changed: again if another request has changed it
}

type (
	checks     = rest.Checks[*request]     // of a request for one record
	listChecks = rest.Checks[*listRequest] // of a request for a list
)

// request is a request for one record, with the results of its checks.
type request struct {
	*resource
	r      *rest.Request
	args   *rest.Args     // of a GET or a PATCH
	shown  rest.FieldSet  // the requested fields of a GET
	body   any            // of a POST, set by bodyDecodes
	patch  patch.Patch    // of a PATCH, set by patchDecodes
	isNull bool           // the body of a PATCH is null, set by patchDecodes
	values map[string]any // the fields in the body of a POST or in a patched record, set by bodyDecodes or patchApplies
	parent string         // the UUID of a node's new parent in a PATCH, set by parentMayChange
	before record         // the record before a PATCH, nil for a POST
	record record         // the record, set by recordExists, or by bodyDecodes as an empty one, which fieldsSet completes
	traits traits.Change  // of a runbook, set by runbookTraitsDecode
}

func (x *resource) request(r *rest.Request) *request { return &request{resource: x, r: r} }

// noArguments refuses arguments, and then a version that does not have the action.
func noArguments(q *request) error { return q.r.CheckArgs(q.r.QueryArgs()) }

// identValid refuses an identifier in the path that no record can have.
func identValid(q *request) error { return q.checkIdent(q.r.Param(0), q.named(q.r.Service)) }

// uuidValid refuses an identifier in the path that is no UUID.
func uuidValid(q *request) error { return q.checkIdent(q.r.Param(0), false) }

// recordExists finds the record that the path names.
func recordExists(q *request) (err error) {
	q.record, err = q.find(q.r, q.r.Param(0))
	return err
}

// fieldsInVersion refuses a POST or a PATCH of fields that are newer than the version of the request.
func fieldsInVersion(q *request) error {
	if slices.ContainsFunc(q.fields, func(f field) bool {
		_, given := q.values[f.name]
		return f.since > q.r.Version && f.since <= q.r.Highest && (given || !f.is(patchedEarlier) && q.patch.Replaces(f.name))
	}) {
		return fault.NotAcceptable
	}
	return nil
}

// fieldsSet sets the fields of the record to the values, which satisfy the schema, and the missing ones to their
// defaults, unless the resource is patchedInPart. It refuses values by the rules of their fields.
func fieldsSet(q *request) (err error) {
	for _, f := range q.settable {
		v, has := q.values[f.name]
		if v != nil && f.convert != nil {
			if v, err = f.convert(q.r, f.name, v); err != nil {
				return err
			}
		}
		switch {
		case has && (v != nil || q.is(patchedInPart)):
			f.store(q.record, v)
		case q.before != nil && f.is(nullable):
			f.store(q.record, nil) // not its default
		case has || f.storedAs == "" && !q.is(patchedInPart):
			f.store(q.record, f.zero)
		}
	}
	return nil
}

// nodeUnlocked waits until no other request holds the lock of the record's node.
func nodeUnlocked(q *request) error {
	return q.r.Conductor.TouchNode(q.r.Context(), q.store.meta(q.record).NodeUUID)
}

// nodeUnlockedOrGone is nodeUnlocked for a record that may be deleted even if its node does not exist.
func nodeUnlockedOrGone(q *request) error {
	if err := nodeUnlocked(q); !errors.Is(err, conductor.NotFound) {
		return err
	}
	return nil
}

// unreserved returns the fields of a node as if no other request held its lock, for the checks after nodeUnlocked.
func unreserved(n *conductor.Node) admission.NodeFields {
	fields := n.Fields()
	fields.Reserved = false
	return fields
}
