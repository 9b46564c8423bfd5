// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

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
	n, name, component, err := indicator(r, r.QueryArgs())
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
	a.Need("state").Text("state")
	if _, _, _, err := indicator(r, a); err != nil {
		return rest.Answer{}, err
	}
	return rest.Answer{}, update(r, a, func(n *node) error {
		return conductor.Held(fault.Invalid("%s", conductor.UnsupportedText(n.Driver, "set_indicator_state")))
	})
}

// indicator returns the node, the name and the component of an indicator NAME@COMPONENT, or the fault of the arguments.
//
// Source: IndicatorAtComponent in ironic/api/controllers/v1/node.py.
func indicator(r *rest.Request, a *rest.Args) (n *node, name, component string, err error) {
	if n, err = r.PathNode(a); err != nil {
		return nil, "", "", err
	}
	name, component, ok := strings.Cut(r.Param(1), "@")
	if !ok {
		return nil, "", "", fault.Invalid("Malformed indicator name \"%s\"", fault.Show(r.Param(1)))
	}
	return n, name, component, nil
}
