// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestCapabilitiesWithABootModeThatTheOperatorDoesNotAllowAreRefused(t *testing.T) {
	for _, series := range []states.Series{states.Caracal, states.Dalmatian, states.Latest()} {
		s := startWith(t, series, api.Config{}, nil, func(c *conductor.Config) {
			c.DisallowedBootModes.Enrollment = []string{"bios"}
		})
		s.create(`{"driver": "fake-hardware", "name": "n", "properties": {"capabilities": "a:b,boot_mode:uefi"}}`)
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/v1/nodes", `{"driver": "fake-hardware", "name": "a", "properties": {"capabilities": "a:b, Boot_Mode : BIOS"}}`},
			{"PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/properties/capabilities", "value": "boot_mode:bios"}]`},
			{"PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/properties", "value": {"capabilities": "boot_mode:bios"}}]`},
		} {
			got := s.do(c.method, c.path, "1.82", c.body)
			if series < states.Dalmatian {
				require.Less(t, got.status, 300, "%v %s", series, c.body)
				continue
			}
			require.Equal(t, http.StatusBadRequest, got.status, "%v %s", series, c.body)
			require.Contains(t, got.fault(), "'bios' boot mode is not allowed for provisioning operation.")
		}
		s.do("PATCH", "/v1/nodes/n", "1.82", `[{"op": "remove", "path": "/properties/capabilities"},
			{"op": "add", "path": "/properties/capabilities", "value": "boot_mode"}, {"op": "add", "path": "/properties/cpus", "value": 1}]`).
			must(http.StatusOK)
	}
}
