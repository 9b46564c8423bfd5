// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
)

// The checks of the name of a node and of the boot mode in its capabilities. Source: as of the checks in nodechecks.go.

// newNodeNameValid refuses a new node with an invalid name.
func newNodeNameValid(q *request) error {
	if name := q.values["name"]; name != nil {
		return checkNodeName(q.r, name, "Cannot create node with invalid name '%s'")
	}
	return nil
}

// nodeNameValid refuses a patch that sets an invalid name.
func nodeNameValid(q *request) error {
	for _, name := range q.patch.Values("name") {
		if err := checkNodeName(q.r, name, "Node "+q.r.Param(0)+": Cannot change name to invalid name '%s'"); err != nil {
			return err
		}
	}
	return nil
}

// reservedNames are not allowed as names of nodes, since they are segments of paths.
var reservedNames = []string{"maintenance", "management", "states", "vendor_passthru", "detail", "validate"}

// checkNodeName refuses an invalid name of a node. format is the text of the fault, with %s for the name.
func checkNodeName(r *rest.Request, name any, format string) error {
	if r.Version < since.Names {
		return fault.NotAcceptable
	}
	s, ok := name.(string)
	switch {
	case !ok || !r.ValidName(s) || rest.IsUUID(s):
		return fault.Invalid(format, fault.Show(name))
	case slices.Contains(reservedNames, s):
		return fault.Invalid("The word \"%s\" is reserved and can not be used as a node name. Reserved words are: %s.", s,
			strings.Join(reservedNames, ", "))
	default:
		return nil
	}
}

// newBootModeAllowed refuses a new node with a boot mode in its capabilities that the operator does not allow.
func newBootModeAllowed(q *request) error {
	properties, _ := q.values["properties"].(map[string]any)
	return checkBootMode(q.r, properties["capabilities"])
}

// bootModeAllowed refuses a patch that sets such capabilities. Unlike Ironic it also looks at a patch of all
// properties.
func bootModeAllowed(q *request) error {
	for _, value := range q.patch.Values("properties/capabilities") {
		if err := checkBootMode(q.r, value); err != nil {
			return err
		}
	}
	for _, value := range q.patch.Values("properties") {
		properties, _ := value.(map[string]any)
		if err := checkBootMode(q.r, properties["capabilities"]); err != nil {
			return err
		}
	}
	return nil
}

// checkBootMode refuses capabilities with a boot mode that the operator does not allow.
func checkBootMode(r *rest.Request, capabilities any) error {
	text, _ := capabilities.(string)
	for _, capability := range strings.Split(strings.ToLower(text), ",") {
		name, mode, _ := strings.Cut(capability, ":")
		if mode = strings.TrimSpace(mode); strings.TrimSpace(name) == "boot_mode" && !r.Conductor.Rules().Enrolls(mode) {
			return fault.Invalid("'%s' boot mode is not allowed for provisioning operation.", mode)
		}
	}
	return nil
}
