// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

var (
	nodeIdent = ident("node")
	nodeUUID  = uuid("node_uuid")
)

// validate answers GET /v1/nodes/NODE/validate, and ...?node=NODE without NODE in
// the path.
var validate = checks{
	arguments(nodeIdent, nodeUUID), argumentNodeExists,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	results, err := q.Conductor.Validate(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, err
	}
	return rest.Object(func(w *wire.Writer) {
		for _, kind := range validatedKinds {
			result, ok := results[kind]
			if !ok || kind == "firmware" && q.Highest < since.Firmware {
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
})

// argumentNodeExists finds the node in the arguments, of which node_uuid comes first.
func argumentNodeExists(q *request) (err error) {
	switch ident := cmp.Or(nodeUUID.of(q), nodeIdent.of(q)); {
	case ident == "":
		return fault.Invalid("Expected a logical name or UUID but received None.")
	case !rest.IsUUID(ident) && q.Version < since.Names:
		return fault.NotAcceptable
	default:
		q.node, err = q.FindNode(ident)
		return err
	}
}

// validatedKinds are the kinds of hardware interfaces in the response to a validation, in
// Ironic's order.
var validatedKinds = []string{
	"boot", "deploy", "management", "network", "power", "bios", "console", "inspect", "raid", "rescue", "storage",
	"firmware", "vendor",
}
