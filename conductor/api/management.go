package api

import (
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// showBootDevice answers GET /v1/nodes/NODE/management/boot_device.
func showBootDevice(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	device, persistent, err := r.conductor.BootDevice(r.Context(), n.UUID)
	if err != nil {
		return answer{}, hardwareFault(err)
	}
	w := newWriter(128)
	w.open()
	w.key("boot_device").textOrNull(device)
	w.key("persistent").boolean(persistent)
	w.close()
	return answer{status: http.StatusOK, body: w.b}, nil
}

// setBootDevice answers PUT /v1/nodes/NODE/management/boot_device.
func setBootDevice(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "boot_device", "persistent")
	device, persistent := a.need("boot_device").text("boot_device"), a.boolean("persistent")
	if a.err != nil {
		return answer{}, a.err
	}
	if a.values["boot_device"] == nil {
		device = repr(nil)
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	err = r.conductor.SetBootDevice(r.Context(), n.UUID, device, persistent != nil && *persistent)
	return answer{status: http.StatusNoContent}, hardwareFault(err)
}

// listBootDevices answers GET /v1/nodes/NODE/management/boot_device/supported.
func listBootDevices(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	devices, err := r.conductor.BootDevices(r.Context(), n.UUID)
	if err != nil {
		return answer{}, hardwareFault(err)
	}
	return objectWith("supported_boot_devices", func(w *writer) { w.texts(devices) }), nil
}

// hardwareFault returns a fault with the text of a hardware error. The errors of hardware types
// contain no secrets, see [conductor.Hardware].
func hardwareFault(err error) error {
	if err == nil {
		return nil
	}
	if f := asFault(err); f != errInternal {
		return f
	}
	return &fault{status: http.StatusInternalServerError, text: err.Error()}
}

// injectNMI answers PUT /v1/nodes/NODE/management/inject_nmi. No hardware type supports it.
func injectNMI(r *request) (answer, error) {
	if err := r.accept(r.bodyArgs(maxBody)); err != nil {
		return answer{}, err
	}
	return answer{}, r.updateNode(func(n *node) error {
		return conductor.Held(invalid("%s", unsupported(n, "inject_nmi")))
	})
}

// listIndicators answers GET /v1/nodes/NODE/management/indicators.
func listIndicators(r *request) (answer, error) {
	n, err := r.node(r.param(0))
	if err != nil {
		return answer{}, err
	}
	indicators, err := r.conductor.Indicators(r.Context(), n.UUID)
	if err != nil {
		return answer{}, hardwareFault(err)
	}
	return objectWith("indicators", func(w *writer) {
		w.openList()
		for _, indicator := range indicators {
			name := indicator.Name + "@" + indicator.Component
			w.open()
			w.key("name").text(name)
			w.key("component").text(indicator.Component)
			w.key("readonly").boolean(indicator.ReadOnly)
			w.key("states").texts(indicator.States)
			w.key("links").links(r.base(), "nodes/", r.param(0), "/management/indicators/", name)
			w.close()
		}
		w.closeList()
	}), nil
}

// showIndicator answers GET /v1/nodes/NODE/management/indicators/INDICATOR.
func showIndicator(r *request) (answer, error) {
	if a := r.queryArgs(); a.err != nil {
		return answer{}, a.err
	}
	n, name, component, err := r.indicator()
	if err != nil {
		return answer{}, err
	}
	state, err := r.conductor.IndicatorState(r.Context(), n.UUID, component, name)
	if err != nil {
		return answer{}, hardwareFault(err)
	}
	return objectWith("state", func(w *writer) { w.text(state) }), nil
}

// setIndicator answers PUT /v1/nodes/NODE/management/indicators/INDICATOR. No hardware type
// supports it.
func setIndicator(r *request) (answer, error) {
	a := r.bodyArgs(maxBody, "state")
	if a.need("state").text("state"); a.err != nil {
		return answer{}, a.err
	}
	if _, _, _, err := r.indicator(); err != nil {
		return answer{}, err
	}
	return answer{}, r.updateNode(func(n *node) error {
		return conductor.Held(invalid("%s", unsupported(n, "set_indicator_state")))
	})
}

// indicator returns the node, the name and the component of an indicator NAME@COMPONENT.
//
// Source: IndicatorAtComponent in ironic/api/controllers/v1/node.py.
func (r *request) indicator() (n *node, name, component string, err error) {
	if n, err = r.node(r.param(0)); err != nil {
		return nil, "", "", err
	}
	name, component, ok := strings.Cut(r.param(1), "@")
	if !ok {
		return nil, "", "", invalid("Malformed indicator name \"%s\"", show(r.param(1)))
	}
	return n, name, component, nil
}
