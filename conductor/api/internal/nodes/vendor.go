// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"
	"slices"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// listVendorMethods answers GET /v1/nodes/NODE/vendor_passthru/methods.
var listVendorMethods = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	methods, err := q.Conductor.VendorMethods(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		for _, name := range slices.Sorted(maps.Keys(methods)) {
			m := methods[name]
			w.Key(name).Open()
			w.Key("http_methods").Texts(m.HTTPMethods)
			w.Key("async").Boolean(m.Async)
			w.Key("description").Text(m.Description)
			w.Key("attach").Boolean(m.Attach)
			w.Key("require_exclusive_lock").Boolean(m.Exclusive)
			w.Close()
		}
	}), nil
})

// callVendor answers requests for /v1/nodes/NODE/vendor_passthru/METHOD, and for
// .../vendor_passthru?method=METHOD.
var callVendor = checks{methodNamed, vendorBodyDecodes, nodeExists, methodExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	result, err := q.Conductor.CallVendor(q.Context(), q.node.UUID, q.method, q.body)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	if q.isAsync {
		return rest.Accepted, nil
	}
	return rest.Value(func(w *wire.Writer) { w.Value(result) }), nil
})

// methodNamed reads the name of the method, which the path or the query has.
func methodNamed(q *request) error {
	a := q.QueryArgs("method")
	q.method = a.Need("method").Text("method")
	return a.Err
}

// vendorBodyDecodes reads the arguments of the method, none for a body that is no object.
func vendorBodyDecodes(q *request) error {
	body, err := q.Decode(rest.MaxBody)
	q.body, _ = body.(map[string]any)
	return err
}

// methodExists refuses a method that the vendor interface of the node does not have, or not for the HTTP method.
func methodExists(q *request) error {
	if q.method == "" {
		return fault.Invalid("Method not specified")
	}
	methods, err := q.Conductor.VendorMethods(q.Context(), q.node.UUID)
	if err != nil {
		return err
	}
	m, found := methods[q.method]
	switch q.isAsync = m.Async; {
	case !found:
		return fault.Invalid("No handler for method %s", fault.Show(q.method))
	case !slices.Contains(m.HTTPMethods, q.Method):
		return fault.Invalid("The method %s does not support HTTP %s", fault.Show(q.method), q.Method)
	default:
		return nil
	}
}
