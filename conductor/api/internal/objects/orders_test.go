// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoOrderOfChecksChangesByAccident compares the orders of the checks and of the fields with testdata/orders.txt.
// A request shows an order only if it has just the two faults of a pair, and the recorded exchanges have few of
// these. The file was written from the code, whose orders random requests beside Ironic have compared. Whoever
// changes an order by Ironic's code changes the file, too.
func TestNoOrderOfChecksChangesByAccident(t *testing.T) {
	want, err := os.ReadFile("testdata/orders.txt")
	require.NoError(t, err)
	got := written("usual", usual)
	for _, r := range []*resource{
		nodeResource, portResource, portGroupResource, chassisResource, allocationResource, connectorResource, targetResource,
		templateResource, runbookResource, inspectionRuleResource,
	} {
		got += written(r.path, r.orders) + r.path + " parameters: " + strings.Join(r.list.types, " ") + "\n"
		if r.bodyOrder != nil {
			got += r.path + " fields: " + strings.Join(r.bodyOrder, " ") + "\n"
		}
		if r.schemaOrder != nil {
			got += r.path + " schema: " + strings.Join(r.schemaOrder, " ") + "\n"
		}
	}
	got += order("below another", "one", forbidden)
	for _, action := range slices.Sorted(maps.Keys(belowChassis)) {
		got += order("below a chassis", action, belowChassis[action])
	}
	got += "usual fields and schema: " + strings.Join(usualFields, " ") + "\n"
	require.Equal(t, string(want), got)
}

// written returns the orders of a resource as in the file, without those that are the usual ones.
func written(path string, o orders) string {
	return order(path, "list", o.list) + order(path, "details", o.details) + order(path, "get", o.get) + order(path, "post", o.post) +
		order(path, "patch", o.patch) + order(path, "update", o.update) + order(path, "delete", o.delete)
}

func order[C any](path, name string, checks []C) string {
	if checks == nil {
		return ""
	}
	lines := fmt.Sprintf("%s %s:\n", path, name)
	for _, c := range checks {
		function := runtime.FuncForPC(reflect.ValueOf(c).Pointer()).Name()
		function, _, _ = strings.Cut(function, ".func")                          // of the function that has returned the check
		lines += "\t" + function[strings.LastIndexByte(function, '.')+1:] + "\n" // without those into which that one is inlined
	}
	return lines
}
