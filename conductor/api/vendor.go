package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/conductor"
)

// listVendorMethods answers GET /v1/nodes/NODE/vendor_passthru/methods.
func listVendorMethods(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	methods, err := r.conductor.VendorMethods(r.Context(), n.UUID)
	if err != nil {
		return answer{}, err
	}
	w := newWriter(1024)
	w.open()
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		w.key(name)
		writeVendorMethod(w, methods[name])
	}
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

func writeVendorMethod(w *writer, m conductor.VendorMethod) {
	w.open()
	w.key("http_methods").texts(m.HTTPMethods)
	w.key("async").boolean(m.Async)
	w.key("description").text(m.Description)
	w.key("attach").boolean(m.Attach)
	w.key("require_exclusive_lock").boolean(m.Exclusive)
	w.close()
}

// callVendor answers requests for /v1/nodes/NODE/vendor_passthru/METHOD, and for
// .../vendor_passthru?method=METHOD.
func callVendor(r *request) (answer, error) {
	method := r.query.Get("method")
	if a := r.queryArgs("method"); a.err != nil {
		return answer{}, a.err
	}
	if len(r.params) > 1 {
		method = r.param(1)
	} else if !r.query.Has("method") {
		return answer{}, invalid("Missing mandatory parameter: method")
	}
	body, err := r.decode(maxBody)
	if err != nil {
		return answer{}, err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	if method == "" {
		return answer{}, invalid("Method not specified")
	}
	methods, err := r.conductor.VendorMethods(r.Context(), n.UUID)
	if err != nil {
		return answer{}, err
	}
	m, found := methods[method]
	if !found {
		return answer{}, invalid("No handler for method %s", show(method))
	}
	if !slices.Contains(m.HTTPMethods, r.Method) {
		return answer{}, invalid("The method %s does not support HTTP %s", show(method), r.Method)
	}
	args, _ := body.(map[string]any)
	result, err := r.conductor.CallVendor(r.Context(), n.UUID, method, args)
	if err != nil {
		return answer{}, hardwareFault(err)
	}
	if m.Async {
		return answer{status: http.StatusAccepted}, nil
	}
	w := newWriter(128)
	w.value(result)
	return answer{status: http.StatusOK, body: w.b}, nil
}
