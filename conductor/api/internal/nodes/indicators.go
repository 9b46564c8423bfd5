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
var listIndicators = checks{nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	indicators, err := q.Conductor.Management(q.node.UUID).Indicators(q.Context())
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("indicators", func(w *wire.Writer) {
		wire.List(w, indicators, func(indicator conductor.Indicator) {
			name := indicator.Name + "@" + indicator.Component
			w.Open()
			w.Key("name").Text(name)
			w.Key("component").Text(indicator.Component)
			w.Key("readonly").Boolean(indicator.ReadOnly)
			w.Key("states").Texts(indicator.States)
			w.Key("links").Links(q.Base(), "nodes/", q.Param(0), "/management/indicators/", name)
			w.Close()
		})
	}), nil
})

// showIndicator answers GET /v1/nodes/NODE/management/indicators/INDICATOR.
var showIndicator = checks{arguments(), nodeExists, indicatorNamed}.Then(newRequest, func(q *request) (rest.Answer, error) {
	name, component, _ := strings.Cut(q.Param(1), "@")
	state, err := q.Conductor.Management(q.node.UUID).IndicatorState(q.Context(), component, name)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("state", func(w *wire.Writer) { w.Text(state) }), nil
})

// setIndicator answers PUT /v1/nodes/NODE/management/indicators/INDICATOR. No hardware type
// supports it.
var setIndicator = checks{
	arguments(need(text("state"))), nodeExists, indicatorNamed,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Answer{}, q.update(func(n *node) error {
		return conductor.Held(fault.Invalid("%s", conductor.UnsupportedText(n.Driver, "set_indicator_state")))
	})
})

// indicatorNamed refuses an identifier of an indicator that is not NAME@COMPONENT.
//
// Source: IndicatorAtComponent in ironic/api/controllers/v1/node.py.
func indicatorNamed(q *request) error {
	if !strings.Contains(q.Param(1), "@") {
		return fault.Invalid("Malformed indicator name \"%s\"", fault.Show(q.Param(1)))
	}
	return nil
}
