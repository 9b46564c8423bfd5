package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// approved refuses a runbook that is not approved for a node: the node has none of the runbook's
// traits, or below 1.112 no trait with the runbook's name.
func approved(r *request, n *conductor.Node, book *conductor.Runbook) error {
	if r.version < since.RunbookTraits {
		if slices.Contains(n.Traits, book.Name) {
			return nil
		}
		return invalid("This runbook has not been approved for use on this node %s. Please ask an administrator to add it to your node traits.", n.UUID)
	}
	if slices.ContainsFunc(book.Traits, func(trait string) bool { return slices.Contains(n.Traits, trait) }) {
		return nil
	}
	return invalid("This runbook has not been approved for use on this node %s. The node does not have any of the runbook's traits. Please ask an administrator to add a matching trait to your node.", n.UUID)
}

// listRunbookTraits answers GET /v1/runbooks/RUNBOOK/traits.
func listRunbookTraits(r *request) (answer, error) {
	o, err := r.object(runbookResource, r.param(0))
	if err != nil {
		return answer{}, err
	}
	return objectWith("traits", func(w *writer) { w.texts(o.(*conductor.Runbook).Traits) }), nil
}

// setRunbookTraits answers PUT and DELETE of /v1/runbooks/RUNBOOK/traits and
// .../traits/TRAIT.
func setRunbookTraits(r *request) (answer, error) {
	change, err := r.traitChange()
	if err != nil {
		return answer{}, err
	}
	o, err := r.object(runbookResource, r.param(0))
	if err != nil {
		return answer{}, err
	}
	_, err = r.conductor.UpdateObject(r.Context(), conductor.KindRunbook, o.Meta().UUID, func(o conductor.Object) (err error) {
		book := o.(*conductor.Runbook)
		book.Traits, err = change(book.UUID, book.Traits)
		return err
	})
	if errors.Is(err, conductor.NotFound) {
		return answer{}, runbookResource.notFound(r.param(0))
	}
	a := statusNoContent
	if r.Method == http.MethodPut && len(r.params) > 1 {
		a.location = "runbooks/" + r.param(0) + "/traits/" + r.param(1)
	}
	return a, err
}
