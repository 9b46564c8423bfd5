// SPDX-License-Identifier: Apache-2.0

package inspectionrules_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/internal/inspectionrules"
)

// A rule that sets an attribute which is not listed has no effect.
func TestEachFieldOfANodeIsAnAttributeOrTheConductorsOwn(t *testing.T) {
	own := strings.Fields("agent allocation_uuid bios_settings chassis_uuid claim clean_steps clean_up conductor " +
		"deploy_steps deployment empty firmware interfaces origin other_steps power_changed_at service_steps transitions")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[conductor.Node]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		require.NotEqual(t, slices.Contains(own, name), inspectionrules.HasNodeAttribute(name),
			"the field %s of conductor.Node: add it to attributesOfNodes in conductor/internal/inspectionrules/attributes.go, or to own here "+
				"if Ironic's nodes have no such attribute", name)
	}
}
