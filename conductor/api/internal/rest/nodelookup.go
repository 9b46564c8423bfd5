// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// FindNodeOrJSON is FindNode for the requests for which Ironic also finds a node by the rest of its name if the path
// ended in .json: GET, PATCH and DELETE of the node, heartbeats, and DELETE of its allocation.
//
// Source: get_rpc_node_with_suffix in ironic/api/controllers/v1/utils.py.
func (r *Request) FindNodeOrJSON(ident string) (*conductor.Node, error) {
	n, err := r.FindNode(ident)
	if err != nil && r.Suffix && fault.Of(err).Status == http.StatusNotFound {
		n, err = r.FindNode(ident + ".json")
	}
	return n, err
}

// FindNode returns a node by its UUID or its name.
//
// Source: get_rpc_node in ironic/api/controllers/v1/utils.py.
func (r *Request) FindNode(ident string) (*conductor.Node, error) {
	if err := CheckIdent("node_ident", ident); err != nil {
		return nil, err
	}
	switch byUUID := IsUUID(ident); {
	case !byUUID && r.Version < since.Names:
		return nil, NodeNotFound(ident)
	case !byUUID && !r.ValidName(ident):
		return nil, fault.Invalid("Expected a logical name or UUID but received %s.", fault.Show(ident))
	}
	n, err := r.Conductor.Node(r.Context(), ident)
	if errors.Is(err, conductor.NotFound) {
		return nil, NodeNotFound(ident)
	}
	return n, err
}

// NodeNotFound returns the fault of a node that does not exist.
func NodeNotFound(ident string) error { return fault.NotFound("Node %s could not be found.", ident) }
