// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// showConsole answers GET /v1/nodes/NODE/states/console.
var showConsole = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		w.Key("console_enabled").Boolean(q.node.ConsoleEnabled)
		w.Key("console_info")
		if q.node.ConsoleEnabled {
			w.Object(nil)
		} else {
			w.Null()
		}
	}), nil
})

var consoleEnabled = need(boolean("enabled"))

// setConsole answers PUT /v1/nodes/NODE/states/console. The console of fake-hardware
// does nothing; no other hardware type has one.
var setConsole = checks{
	arguments(consoleEnabled), nodeExists, consoleExists,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	var err error
	// As in Ironic, null is a change in any case. It switches the console off.
	enabled := consoleEnabled.of(q)
	if want := enabled != nil && *enabled; enabled == nil || want != q.node.ConsoleEnabled {
		err = q.update(func(n *node) error {
			n.ConsoleEnabled, n.LastError = want, ""
			return nil
		})
	}
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + q.Param(0) + "/states/console"}, err
})

// consoleExists refuses a node whose hardware type has no console.
func consoleExists(q *request) error {
	if !q.Describe(q.node.Driver).Has(q.node, "console") {
		return fault.Invalid("%s", conductor.UnsupportedText(q.node.Driver, "console"))
	}
	return nil
}
