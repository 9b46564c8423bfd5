// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// validate answers GET /v1/nodes/NODE/validate, and ...?node=NODE without NODE in
// the path.
func validate(r *rest.Request) (rest.Answer, error) {
	a := r.QueryArgs("node", "node_uuid")
	ident := a.Ident("node")
	if uuid := a.UUID("node_uuid"); uuid != "" {
		ident = uuid
	}
	if a.Err != nil {
		return rest.Answer{}, a.Err
	}
	switch {
	case ident == "":
		return rest.Answer{}, fault.Invalid("Expected a logical name or UUID but received None.")
	case !rest.IsUUID(ident) && r.Version < since.Names:
		return rest.Answer{}, fault.NotAcceptable
	}
	n, err := r.Node(ident)
	if err != nil {
		return rest.Answer{}, err
	}
	results, err := r.Conductor.Validate(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		for _, kind := range validatedKinds {
			result, ok := results[kind]
			if !ok || kind == "firmware" && r.Highest < since.Firmware {
				continue
			}
			w.Key(kind).Open()
			w.Key("result").Boolean(result == nil)
			if result != nil {
				w.Key("reason").Text(result.Error())
			}
			w.Close()
		}
	}), nil
}

// validatedKinds are the kinds of hardware interfaces in the response to a validation, in
// Ironic's order.
var validatedKinds = []string{
	"boot", "deploy", "management", "network", "power", "bios", "console", "inspect", "raid", "rescue", "storage",
	"firmware", "vendor",
}
