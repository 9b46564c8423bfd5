// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/objects"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// useRunbook adds the steps of a runbook to a request for cleaning or servicing.
//
// Source: _handle_runbook in ironic/api/controllers/v1/node.py.
func useRunbook(r *rest.Request, n *conductor.Node, q *provisionQuery) error {
	if r.Version < since.Runbooks {
		return fault.NotAcceptable
	}
	book, steps, err := objects.ApprovedRunbook(r, n, q.runbook)
	if err != nil {
		return err
	}
	switch {
	case q.target != "clean" && q.target != "service":
		return fault.Invalid("\"runbooks\" is only valid when setting target provision state to any of ['clean', 'service']")
	case len(q.steps[q.target]) > 0:
		return fault.Invalid("Please provide either \"%s_steps\" or a runbook, but not both.", q.target)
	}
	q.steps[q.target] = steps
	if book.DisableRamdisk {
		q.disableRamdisk = &book.DisableRamdisk
	}
	return nil
}
