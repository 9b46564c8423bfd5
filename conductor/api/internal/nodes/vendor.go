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
var listVendorMethods = checks{arguments(), nodeExists}.then(func(q *request) (rest.Answer, error) {
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
func callVendor(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("method")
	method := ""
	if len(r.Params) == 1 {
		method = a.Need("method").Text("method")
	} else if method = r.Param(1); a.Has("method") {
		a.Fail("The path and the query both have the argument method")
	}
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return rest.Answer{}, err
	}
	n, err := r.FindNode(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	if method == "" {
		return rest.Answer{}, fault.Invalid("Method not specified")
	}
	methods, err := r.Conductor.VendorMethods(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	m, found := methods[method]
	if !found {
		return rest.Answer{}, fault.Invalid("No handler for method %s", fault.Show(method))
	}
	if !slices.Contains(m.HTTPMethods, r.Method) {
		return rest.Answer{}, fault.Invalid("The method %s does not support HTTP %s", fault.Show(method), r.Method)
	}
	args, _ := body.(map[string]any)
	result, err := r.Conductor.CallVendor(r.Context(), n.UUID, method, args)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	if m.Async {
		return rest.Accepted, nil
	}
	return rest.Value(func(w *wire.Writer) { w.Value(result) }), nil
}
