package api

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// useRunbook adds the steps of a runbook to a request for cleaning or servicing.
//
// Source: _handle_runbook in ironic/api/controllers/v1/node.py.
func (r *request) useRunbook(n *conductor.Node, q *provisionQuery) error {
	if r.version < since.Runbooks {
		return errNotAcceptable
	}
	o, err := r.object(runbookResource, q.runbook)
	if err != nil {
		return err
	}
	book := o.(*conductor.Runbook)
	if err := approved(r, n, book); err != nil {
		return err
	}
	switch {
	case q.target != "clean" && q.target != "service":
		return invalid("\"runbooks\" is only valid when setting target provision state to any of ['clean', 'service']")
	case len(q.steps[q.target]) > 0:
		return invalid("Please provide either \"%s_steps\" or a runbook, but not both.", q.target)
	}
	q.steps[q.target], _ = load(book, "steps").([]any)
	if book.DisableRamdisk {
		q.disableRamdisk = &book.DisableRamdisk
	}
	return nil
}
