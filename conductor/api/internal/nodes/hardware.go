// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
)

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

// hasInterface reports whether a node has a hardware interface of the kind other than "no-KIND".
func hasInterface(r *rest.Request, n *node, kind string) bool {
	name := r.InterfaceOf(n, kind)
	return name != "" && name != "no-"+kind
}

func unsupported(n *node, feature string) string {
	return "Driver " + n.Driver + " does not support " + feature + " (disabled or not implemented)."
}
