// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// ApprovedRunbook returns the runbook with a UUID or name, and its steps as JSON. It refuses one that is
// not approved for a node: the node has none of the runbook's traits, or below 1.112 no trait with the
// runbook's name.
func ApprovedRunbook(r *rest.Request, n *conductor.Node, ident string) (*conductor.Runbook, []any, error) {
	o, err := find(r, runbookResource, ident)
	if err != nil {
		return nil, nil, err
	}
	book := o.(*conductor.Runbook)
	has := func(trait string) bool { return slices.Contains(n.Traits, trait) }
	switch {
	case r.Version < since.RunbookTraits && !has(book.Name):
		return nil, nil, fault.Invalid("This runbook has not been approved for use on this node %s. Please ask an administrator to add it to your node traits.", n.UUID)
	case r.Version >= since.RunbookTraits && !slices.ContainsFunc(book.Traits, has):
		return nil, nil, fault.Invalid("This runbook has not been approved for use on this node %s. The node does not have any of the runbook's traits. Please ask an administrator to add a matching trait to your node.", n.UUID)
	}
	steps, _ := fieldOf(book, "steps").load(book).([]any)
	return book, steps, nil
}

// listRunbookTraits answers GET /v1/runbooks/RUNBOOK/traits.
func listRunbookTraits(r *rest.Request) (rest.Answer, error) {
	o, err := find(r, runbookResource, r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.ObjectWith("traits", func(w *wire.Writer) { w.Texts(o.(*conductor.Runbook).Traits) }), nil
}

// setRunbookTraits answers PUT and DELETE of /v1/runbooks/RUNBOOK/traits and
// .../traits/TRAIT.
func setRunbookTraits(r *rest.Request) (rest.Answer, error) {
	change, err := traits.Change(r)
	if err != nil {
		return rest.Answer{}, err
	}
	o, err := find(r, runbookResource, r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	_, err = r.Conductor.UpdateObject(r.Context(), conductor.KindRunbook, o.Meta().UUID, func(o conductor.Object) (err error) {
		book := o.(*conductor.Runbook)
		book.Traits, err = change(book.UUID, book.Traits)
		return err
	})
	if errors.Is(err, conductor.NotFound) {
		return rest.Answer{}, runbookResource.notFound(r.Param(0))
	}
	a := rest.NoContent
	if r.Method == http.MethodPut && len(r.Params) > 1 {
		a.Location = "runbooks/" + r.Param(0) + "/traits/" + r.Param(1)
	}
	return a, err
}
