// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/states"
)

// Ironic has separate code for each resource, and a request with several faults gets the one that this code finds first. The
// checks of a request are therefore lists: the usual one below, or that of the resource in its orders.
//
// Source: the methods get_all, get_one, post and patch of the controllers in ironic/api/controllers/v1.
var (
	listOrder = []listCheck{
		parentExists, listFieldsAllowed, sortKeyNotNewer, filtersNotNewer, fieldsChosen, pageValid, markerExists, sortKeyHasOrder,
		filtersApply,
	}
	getOrder   = []check{validIdent, recordExists, fieldsAllowed, fieldsExist}
	postOrder  = []check{nodeExists, notBelow, fieldsNotNewer, recordValid}
	patchOrder = []check{validIdent, patchDecodes, patchPermitted, recordExists}
)

// orders are the checks of a resource's requests in their order; nil stands for the usual one.
type orders struct {
	list             []listCheck
	get, post, patch []check
}

// check refuses a request for one record by an error, listCheck one for a list. It may depend on what the checks before it have
// found.
type (
	check     func(q *request) error
	listCheck func(q *listRequest) error
)

// request is a request for one record, and what its checks have found.
type request struct {
	*resource
	r      *rest.Request
	shown  rest.FieldSet    // the requested fields of a GET
	body   map[string]any   // of a POST
	patch  patch.Patch      // of a PATCH, set by patchDecodes
	isNull bool             // the body of a PATCH is null, set by patchDecodes
	record conductor.Object // that of a POST, or the one in the store, set by recordExists
}

// pass runs the checks of the resource's order, or of the usual one, and returns the first fault.
func pass[Q any, C ~func(Q) error](q Q, order, usual []C) error {
	if order == nil {
		order = usual
	}
	for _, check := range order {
		if err := check(q); err != nil {
			return err
		}
	}
	return nil
}

// validIdent refuses an identifier in the path that no record can have.
func validIdent(q *request) error { return q.checkIdent(q.r.Param(0), q.named(q.r.Version)) }

// logicalIdent is validIdent with another text: Ironic finds an allocation to patch by a function that checks the identifier
// itself.
func logicalIdent(q *request) error {
	if ident := q.r.Param(0); !rest.IsUUID(ident) && !rest.IsName(ident) {
		return fault.Invalid("Expected a logical name or UUID but received %s.", fault.Show(ident))
	}
	return nil
}

// recordExists finds the record that the path names.
func recordExists(q *request) (err error) {
	q.record, err = q.find(q.r, q.r.Param(0))
	return err
}

// fieldsAllowed refuses a GET of fields that are newer than the version of the request.
func fieldsAllowed(q *request) error { return q.allowFields(q.r, q.shown) }

// fieldsExist refuses a GET of fields that the resource does not have.
func fieldsExist(q *request) error { return q.checkFields(q.r, q.shown) }

// nodeExists refuses a new record of an unknown node.
func nodeExists(q *request) error { return q.checkNode(q.r, nil, q.record) }

// notBelow refuses a POST in the path of another record.
func notBelow(q *request) error {
	if len(q.r.Params) > 0 {
		return fault.NotPermitted
	}
	return nil
}

// fieldsNotNewer refuses a POST of fields that are newer than the version of the request.
func fieldsNotNewer(q *request) error { return q.checkVersion(q.r, q.body, nil) }

// recordValid refuses a new record by the rules of the resource.
func recordValid(q *request) error { return q.checkRecord(q.r, nil, q.record) }

// patchDecodes reads the patch. Null is a fault of patchPermitted.
func patchDecodes(q *request) (err error) {
	q.patch, err = patch.Decode(q.r)
	if q.isNull = errors.Is(err, patch.ErrNull); q.isNull {
		return nil
	}
	return err
}

// patchSince refuses a PATCH with a version below the first one in which the resource has it.
func patchSince(version states.APIVersion) check {
	return func(q *request) error {
		if q.r.Version < version {
			return &fault.Fault{Status: http.StatusMethodNotAllowed, Text: "The API version does not allow updating " + q.path}
		}
		return nil
	}
}
