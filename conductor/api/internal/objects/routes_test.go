// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/states"
)

// Further segments set no parameter that the series of Ironic does not have.
func TestFurtherSegmentsBeforeDetailAreParametersOfTheSeries(t *testing.T) {
	late := []string{"include_children", "parent_node", "instance_name"}
	for _, series := range []states.Series{states.Antelope, states.Hibiscus} {
		args := nodeResource.pathArgs(&rest.Service{Highest: series.MaxAPIVersion()})
		require.Contains(t, args, "shard", series)
		for _, name := range late {
			if series == states.Antelope {
				require.NotContains(t, args, name)
			} else {
				require.Contains(t, args, name)
			}
		}
	}
}
