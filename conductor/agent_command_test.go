// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A field that is added to Node reaches no agent until it is in agentsFields.
func TestEachFieldOfANodeIsTheAgentsOrTheConductorsOwn(t *testing.T) {
	own := []string{
		"agent", "bios_settings", "claim", "clean_steps", "clean_up", "deploy_steps", "deployment", "driver_internal_info", "empty", "firmware",
		"interfaces", "origin", "other_steps", "power_changed_at", "service_steps", "transitions",
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Node]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			require.NotEqual(t, slices.Contains(own, name), slices.Contains(agentsFields, name),
				"the field %s of Node: add it to agentsFields in conductor/agent_command.go, or to own here if no agent may get it", name)
		}
	}
}
