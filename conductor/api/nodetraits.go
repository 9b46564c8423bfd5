package api

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor"
)

const (
	// maxTraits is the maximum number of traits of a node.
	maxTraits = 50
)

// listTraits answers GET /v1/nodes/NODE/traits.
func listTraits(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	w := newWriter(64 + 32*len(n.Traits))
	w.open()
	w.key("traits").texts(n.Traits)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// setTraits answers PUT and DELETE of /v1/nodes/NODE/traits and .../traits/TRAIT.
func setTraits(r *request) (answer, error) {
	change, err := r.traitChange()
	if err != nil {
		return answer{}, err
	}
	a := statusNoContent
	if r.Method == http.MethodPut && len(r.params) > 1 {
		a.location = "nodes/" + r.param(0) + "/traits/" + r.param(1)
	}
	return a, r.updateNode(func(n *conductor.Node) (err error) {
		if n.Traits, err = change(n.UUID, n.Traits); err == nil && len(n.Traits) > maxTraits {
			err = conductor.Held(invalid("Could not modify traits for node %s as it would exceed the maximum number of traits per node (%d vs. %d)", n.UUID, len(n.Traits), maxTraits))
		}
		return err
	})
}
