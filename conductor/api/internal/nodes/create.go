// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

// create answers POST /v1/nodes.
func (s schemas) create(r *rest.Request) (rest.Answer, error) {
	object, err := s.decode(r)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err := newNode(r, object)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err = r.Conductor.CreateNode(r.Context(), n)
	if err != nil {
		return rest.Answer{}, err
	}
	a := answer(r, http.StatusCreated, n, nil)
	a.Location = "nodes/" + n.UUID
	return a, nil
}

// decode returns the object in the body of a POST, which satisfies the schema of a new node.
func (s schemas) decode(r *rest.Request) (map[string]any, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return nil, err
	}
	object, _ := body.(map[string]any)
	return object, s.created.Validate("node", body)
}

// newNode returns a new node with the fields of a valid object.
//
// Source: post in ironic/api/controllers/v1/node.py.
func newNode(r *rest.Request, object map[string]any) (*node, error) {
	n := &conductor.Node{ProvisionState: r.Version.InitialState()}
	if err := setFields(n, object); err != nil {
		return nil, err
	}
	for name, value := range object {
		empty := value == nil
		if name == "conductor_group" {
			empty = value == ""
		}
		if r.Version < fieldsByName[name].since && !empty {
			return nil, fault.NotAcceptable
		}
	}
	n.SetEmpty("resource_class", false) // Ironic replaces "" by its default
	if name := object["name"]; name != nil {
		if err := checkName(r, name, "Cannot create node with invalid name '%s'"); err != nil {
			return nil, err
		}
	}
	group, _ := object["conductor_group"].(string)
	if err := resolveReferences(r, &conductor.Node{}, n, group); err != nil {
		return nil, err
	}
	return n, nil
}
