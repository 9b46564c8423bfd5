// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Runbooks returns the controller of /v1/runbooks.
func Runbooks(s *rest.Service) *rest.Controller {
	c := runbookResource.controller(s)
	c.Admit = rest.RefuseBefore(since.Runbooks, "runbooks", true)
	if s.Highest < since.RunbookTraits {
		return c
	}
	// The path of a runbook's traits is refused as such, with 404 for all methods, also below the version with runbooks.
	noTraits := &fault.Fault{Status: http.StatusNotFound, Bare: true, Text: "The API version does not allow runbook traits"}
	admit := c.Admit
	c.Admit = func(r *rest.Request) error {
		err := admit(r)
		_, below, _ := strings.Cut(r.Path, "runbooks/")
		if r.Suffix {
			below = strings.TrimSuffix(strings.TrimRight(below, "/"), ".json")
		}
		if segments := strings.Split(below, "/"); err != nil && len(segments) > 1 && segments[1] == "traits" {
			return noTraits
		}
		return err
	}
	below := &rest.Controller{Actions: rest.Actions{
		rest.All: {Serve: listRunbookTraits},
		"put":    {Serve: setRunbookTraits, NoArgs: true, Args: traits.Args, Body: "body"},
		"delete": {Serve: setRunbookTraits, Args: traits.Args},
	}}
	c.Lookup = func(r *rest.Request, segments []string) (*rest.Controller, []string, error) {
		switch {
		case len(segments) < 2 || segments[1] != "traits":
			return nil, nil, nil
		case r.Version < since.RunbookTraits:
			return nil, nil, noTraits
		}
		r.Params = append(r.Params, segments[0])
		return below, segments[2:], nil
	}
	return c
}

var runbookResource = complete(resource{
	of: &conductor.Runbook{}, path: "runbooks", word: "runbook", noun: "Runbook", since: since.Runbooks,
	schemas:     schemaRules{bodyByVersion: true},
	schemaOrder: fieldOrder{"uuid", "name", "steps", "disable_ramdisk", "extra", "public", "owner", "description"},
	fields: []field{
		uuidField,
		{name: "name", flags: required, schema: runbookName},
		extraField,
		{name: "public", types: []string{"boolean", "null"}, zero: false},
		{name: "owner", types: schema.TextOrNull, max: 255},
		{name: "disable_ramdisk", types: []string{"boolean", "null"}, zero: false},
		{name: "description", since: since.RunbookTraits, types: schema.TextOrNull, flags: namedEarlier, max: 255},
		{name: "steps", flags: required, zero: []any{}, schema: StepsSchema("order", false), convert: toSteps("order"), mask: masked.Value},
		{name: "traits", since: since.RunbookTraits, flags: readOnly | namedEarlier, zero: []any{}},
	},
	list: listRules{defaults: []string{"uuid", "name"}, filters: []filter{publicOnly}, detailSince: since.Detail, marker: nameKind},
	// A patch may change these fields in the series before 2026.2.
	patching: patchRules{
		fields: []string{"extra", "name", "steps", "description", "public", "owner"}, allSince: states.Hibiscus,
	},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, listFieldsAllowed, sortKeyInVersion, filtersInVersion, fieldsChosen, pageValid,
			sortKeyHasOrder, markerExists, filtersApply, recordsOnPage, listFieldsExist,
		},
		post:   checks{bodyDecodes, bodyValid, fieldsSet, newRunbookUnowned, postInVersion, notNested},
		update: checks{publicWithoutOwner, patchApplies, documentValid, fieldsSet},
	},
})

// newRunbookUnowned refuses a new runbook with an owner, as Ironic does without Keystone, where a request belongs to no
// project. A patch may set the owner.
//
// Source: post in ironic/api/controllers/v1/runbook.py.
func newRunbookUnowned(q *request) error {
	if q.record.(*conductor.Runbook).Owner != "" {
		return fault.Invalid("Cannot create a runbook as a project scoped admin with an owner other than your own project.")
	}
	q.record.SetEmpty("owner", false)
	return nil
}

// publicWithoutOwner refuses a patch that sets an owner of a public runbook. A patch that says whether the runbook is
// public, also that it is not, removes the owner first.
//
// Source: patch in ironic/api/controllers/v1/runbook.py.
func publicWithoutOwner(q *request) error {
	book := q.record.(*conductor.Runbook)
	public, becomes := q.patch.Values("public"), book.Public
	if len(public) > 0 {
		becomes = pyrepr.Truthy(public[0])
	}
	if len(q.patch.Values("owner")) > 0 && becomes {
		return q.patch.Refused("There cannot be an owner for a public runbook")
	}
	if len(public) > 0 {
		book.Owner = ""
		book.SetEmpty("owner", false)
	}
	return nil
}

// runbookName returns the schema of a name: a trait, and from since.RunbookTraits a logical name. A patched record,
// whose name may be older than the patch, has the newest schema.
func runbookName(r *rest.Request) *schema.Schema {
	version := r.Version
	if r.Method == http.MethodPatch {
		version = r.Highest
	}
	if version < since.RunbookTraits {
		return traits.Schema
	}
	return &schema.Schema{Types: schema.TextType, MinLength: 1, MaxLength: 255, Pattern: logicalName}
}

var logicalName = regexp.MustCompile(`^[A-Za-z0-9\-._~]+$`)

// findRunbook returns a runbook by its UUID or name, which the caller has not checked.
//
// Source: get_rpc_runbook in ironic/api/controllers/v1/utils.py.
func findRunbook(r *rest.Request, ident string) (record, error) {
	if err := rest.CheckLogicalIdent(ident); err != nil {
		return nil, err
	}
	return runbookResource.find(r, ident)
}

// ApprovedRunbook returns the runbook with a UUID or name, and its steps as JSON. It refuses one that is
// not approved for a node: the node has none of the runbook's traits, or below 1.112 no trait with the
// runbook's name.
func ApprovedRunbook(r *rest.Request, n *conductor.Node, ident string) (*conductor.Runbook, []any, error) {
	o, err := findRunbook(r, ident)
	if err != nil {
		return nil, nil, err
	}
	book := o.(*conductor.Runbook)
	has := func(trait string) bool { return slices.Contains(n.Traits, trait) }
	switch {
	case r.Version < since.RunbookTraits && !has(book.Name):
		return nil, nil, fault.Invalid("This runbook has not been approved for use on this node %s. "+
			"Please ask an administrator to add it to your node traits.", n.UUID)
	case r.Version >= since.RunbookTraits && len(book.Traits) == 0:
		return nil, nil, fault.Invalid("Runbook %s has no traits configured. Please ask an administrator to add traits to the runbook.",
			book.UUID)
	case r.Version >= since.RunbookTraits && !slices.ContainsFunc(book.Traits, has):
		return nil, nil, fault.Invalid("This runbook has not been approved for use on this node %s. "+
			"The node does not have any of the runbook's traits %s. "+
			"Please ask an administrator to add a matching trait to your node.",
			n.UUID, pyrepr.List(slices.Sorted(slices.Values(book.Traits))))
	}
	steps, _ := stored(book, "steps").([]any)
	return book, steps, nil
}

// runbookExists finds the runbook that the path names.
func runbookExists(q *request) (err error) {
	q.record, err = findRunbook(q.r, q.r.Param(0))
	return err
}

// listRunbookTraits answers GET /v1/runbooks/RUNBOOK/traits.
var listRunbookTraits = checks{runbookExists}.Then(runbookResource.request, func(q *request) (rest.Answer, error) {
	return rest.ObjectWith("traits", func(w *wire.Writer) { w.Texts(q.record.(*conductor.Runbook).Traits) }), nil
})

// setRunbookTraits answers PUT and DELETE of /v1/runbooks/RUNBOOK/traits and
// .../traits/TRAIT.
var setRunbookTraits = checks{runbookTraitsDecode, runbookExists}.Then(runbookResource.request, func(q *request) (rest.Answer, error) {
	uuid := q.record.(*conductor.Runbook).UUID
	_, err := q.r.Conductor.UpdateObject(q.r.Context(), conductor.KindRunbook, uuid, func(o conductor.Object) (err error) {
		book := o.(*conductor.Runbook)
		if q.r.Method == http.MethodDelete && q.traits.Trait != "" && !slices.Contains(book.Traits, q.traits.Trait) {
			return nil // of a node it is refused
		}
		book.Traits, err = q.traits.Apply(book.UUID, book.Traits)
		return err
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, q.notFound(q.r.Param(0))
	}
	a := rest.NoContent
	if q.r.Method == http.MethodPut && q.traits.Trait != "" {
		a.Location = "runbooks/" + q.r.Param(0) + "/traits/" + q.traits.Trait
	}
	return a, err
})

// runbookTraitsDecode reads the change of the traits.
func runbookTraitsDecode(q *request) (err error) {
	q.traits, err = traits.Decode(q.r, "runbook", func() error { return runbookExists(q) })
	return err
}
