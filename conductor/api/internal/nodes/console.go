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
func showConsole(r *rest.Request, n *node) (rest.Answer, error) {
	return rest.Object(func(w *wire.Writer) {
		w.Key("console_enabled").Boolean(n.ConsoleEnabled)
		w.Key("console_info")
		if n.ConsoleEnabled {
			w.Object(nil)
		} else {
			w.Null()
		}
	}), nil
}

// setConsole answers PUT /v1/nodes/NODE/states/console. The console of fake-hardware
// does nothing; no other hardware type has one.
func setConsole(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "enabled")
	enabled := a.Need("enabled").Boolean("enabled")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	if !r.Describe(n.Driver).Has(n, "console") {
		return rest.Answer{}, fault.Invalid("%s", conductor.UnsupportedText(n.Driver, "console"))
	}
	// As in Ironic, null is a change in any case. It switches the console off.
	if want := enabled != nil && *enabled; enabled == nil || want != n.ConsoleEnabled {
		err = update(r, a, func(n *node) error {
			n.ConsoleEnabled, n.LastError = want, ""
			return nil
		})
	}
	return rest.Answer{Status: http.StatusAccepted, Location: "nodes/" + r.Param(0) + "/states/console"}, err
}
