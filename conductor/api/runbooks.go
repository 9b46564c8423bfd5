package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// useRunbook adds the steps of a runbook to a request for cleaning or servicing.
//
// Source: _handle_runbook in ironic/api/controllers/v1/node.py.
func (r *request) useRunbook(n *node, q *provisionQuery) error {
	if r.version < minRunbooks {
		return errNotAcceptable
	}
	o, err := r.object(runbookResource, q.runbook)
	if err != nil {
		return err
	}
	if err := approved(r, n, o); err != nil {
		return err
	}
	switch {
	case q.target != "clean" && q.target != "service":
		return invalid("\"runbooks\" is only valid when setting target provision state to any of ['clean', 'service']")
	case len(q.steps[q.target]) > 0:
		return invalid("Please provide either \"%s_steps\" or a runbook, but not both.", q.target)
	}
	q.steps[q.target], _ = o.Fields["steps"].([]any)
	if disabled, ok := o.Fields["disable_ramdisk"].(bool); ok && disabled {
		q.disableRamdisk = &disabled
	}
	return nil
}

// approved refuses a runbook that is not approved for a node: the node has none of the runbook's
// traits, or below 1.112 no trait with the runbook's name.
func approved(r *request, n *node, o *conductor.Object) error {
	if r.version < minRunbookTraits {
		if slices.Contains(n.Traits, o.Name) {
			return nil
		}
		return invalid("This runbook has not been approved for use on this node %s. Please ask an administrator to add it to your node traits.", n.UUID)
	}
	traits, _ := o.Fields["traits"].([]any)
	for _, trait := range traits {
		if s, _ := trait.(string); slices.Contains(n.Traits, s) {
			return nil
		}
	}
	return invalid("This runbook has not been approved for use on this node %s. The node does not have any of the runbook's traits. Please ask an administrator to add a matching trait to your node.", n.UUID)
}

// runbookTraits returns the traits of a runbook.
func runbookTraits(o *conductor.Object) (traits []string) {
	list, _ := o.Fields["traits"].([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			traits = append(traits, s)
		}
	}
	return traits
}

// listRunbookTraits answers GET /v1/runbooks/RUNBOOK/traits.
func (h *handler) listRunbookTraits(r *request) (answer, error) {
	o, err := r.object(runbookResource, r.param(0))
	if err != nil {
		return answer{}, err
	}
	return objectWith("traits", func(w *writer) { w.texts(runbookTraits(o)) }), nil
}

// setRunbookTraits answers PUT and DELETE of /v1/runbooks/RUNBOOK/traits and
// .../traits/TRAIT.
func (h *handler) setRunbookTraits(r *request) (answer, error) {
	change, err := r.traitChange()
	if err != nil {
		return answer{}, err
	}
	o, err := r.object(runbookResource, r.param(0))
	if err != nil {
		return answer{}, err
	}
	_, err = h.conductor.UpdateObject(r.Context(), kindRunbook, o.UUID, func(o *conductor.Object) error {
		traits, err := change(o.UUID, runbookTraits(o))
		list := make([]any, len(traits))
		for i, t := range traits {
			list[i] = t
		}
		o.Fields["traits"] = list
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
