package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// node returns the node with the UUID or name in a request. If there is none and the path ended with
// the name and .json, it returns the node whose name ends in .json.
func (r *request) node(ident string) (*conductor.Node, error) {
	n, err := r.nodeNamed(ident)
	if err != nil && r.suffix && strings.HasSuffix(strings.TrimRight(r.URL.Path, "/"), "/"+ident+".json") && asFault(err).status == http.StatusNotFound {
		n, err = r.nodeNamed(ident + ".json")
	}
	return n, err
}

// nodeNamed returns a node by its UUID or its name.
//
// Source: get_rpc_node in ironic/api/controllers/v1/utils.py.
func (r *request) nodeNamed(ident string) (*conductor.Node, error) {
	switch byUUID := isUUID(ident); {
	case !byUUID && !isName(ident):
		return nil, invalid("Expected UUID or name for node_ident: %s", show(ident))
	case !byUUID && r.version < since.Names:
		return nil, nodeNotFound(ident)
	case !byUUID && !r.validName(ident):
		return nil, invalid("Expected a logical name or UUID but received %s.", show(ident))
	}
	n, err := r.conductor.Node(r.Context(), ident)
	if errors.Is(err, conductor.NotFound) {
		return nil, nodeNotFound(ident)
	}
	return n, err
}

func nodeNotFound(ident string) error { return notFound("Node %s could not be found.", ident) }
