// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// showBootDevice answers GET /v1/nodes/NODE/management/boot_device.
func showBootDevice(r *rest.Request) (rest.Answer, error) {
	n, err := r.NodeOf(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	device, persistent, err := r.Conductor.BootDevice(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("boot_device").TextOrNull(device)
		w.Key("persistent").Boolean(persistent)
	}), nil
}

// setBootDevice answers PUT /v1/nodes/NODE/management/boot_device.
func setBootDevice(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "boot_device", "persistent")
	device, persistent := a.Need("boot_device").Text("boot_device"), a.Boolean("persistent")
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	if a.Values["boot_device"] == nil {
		device = fault.Repr(nil)
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	err = r.Conductor.SetBootDevice(r.Context(), n.UUID, device, persistent != nil && *persistent)
	return rest.NoContent, hardwareFault(err)
}

// listBootDevices answers GET /v1/nodes/NODE/management/boot_device/supported.
func listBootDevices(r *rest.Request) (rest.Answer, error) {
	n, err := r.NodeOf(r.QueryArgs())
	if err != nil {
		return rest.Answer{}, err
	}
	devices, err := r.Conductor.BootDevices(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("supported_boot_devices", func(w *wire.Writer) { w.Texts(devices) }), nil
}

// hardwareFault returns a fault with the text of a hardware error. The errors of hardware types
// contain no secrets, see [conductor.Hardware].
func hardwareFault(err error) error {
	if err == nil {
		return nil
	}
	if f := fault.Of(err); f != fault.Internal {
		return f
	}
	return &fault.Fault{Status: http.StatusInternalServerError, Text: err.Error()}
}

// injectNMI answers PUT /v1/nodes/NODE/management/inject_nmi.
func injectNMI(r *rest.Request) (rest.Answer, error) {
	if err := r.Accept(r.BodyArgs(rest.MaxBody)); err != nil {
		return rest.Answer{}, err
	}
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.NoContent, hardwareFault(r.Conductor.Management(n.UUID).InjectNMI(r.Context()))
}

// listIndicators answers GET /v1/nodes/NODE/management/indicators.
func listIndicators(r *rest.Request) (rest.Answer, error) {
	n, err := r.Node(r.Param(0))
	if err != nil {
		return rest.Answer{}, err
	}
	indicators, err := r.Conductor.Management(n.UUID).Indicators(r.Context())
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("indicators", func(w *wire.Writer) {
		w.OpenList()
		for _, indicator := range indicators {
			name := indicator.Name + "@" + indicator.Component
			w.Open()
			w.Key("name").Text(name)
			w.Key("component").Text(indicator.Component)
			w.Key("readonly").Boolean(indicator.ReadOnly)
			w.Key("states").Texts(indicator.States)
			w.Key("links").Links(r.Base(), "nodes/", r.Param(0), "/management/indicators/", name)
			w.Close()
		}
		w.CloseList()
	}), nil
}

// showIndicator answers GET /v1/nodes/NODE/management/indicators/INDICATOR.
func showIndicator(r *rest.Request) (rest.Answer, error) {
	if a := r.QueryArgs(); a.Err != nil {
		return rest.Answer{}, a.Err
	}
	n, name, component, err := indicator(r)
	if err != nil {
		return rest.Answer{}, err
	}
	state, err := r.Conductor.Management(n.UUID).IndicatorState(r.Context(), component, name)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("state", func(w *wire.Writer) { w.Text(state) }), nil
}

// setIndicator answers PUT /v1/nodes/NODE/management/indicators/INDICATOR. No hardware type
// supports it.
func setIndicator(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "state")
	if a.Need("state").Text("state"); a.Err != nil {
		return rest.Answer{}, a.Err
	}
	if _, _, _, err := indicator(r); err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, update(r, func(n *node) error {
		return conductor.Held(fault.Invalid("%s", unsupported(n, "set_indicator_state")))
	})
}

// indicator returns the node, the name and the component of an indicator NAME@COMPONENT.
//
// Source: IndicatorAtComponent in ironic/api/controllers/v1/node.py.
func indicator(r *rest.Request) (n *node, name, component string, err error) {
	if n, err = r.Node(r.Param(0)); err != nil {
		return nil, "", "", err
	}
	name, component, ok := strings.Cut(r.Param(1), "@")
	if !ok {
		return nil, "", "", fault.Invalid("Malformed indicator name \"%s\"", fault.Show(r.Param(1)))
	}
	return n, name, component, nil
}
