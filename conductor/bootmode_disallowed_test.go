// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

func TestADeploymentWithABootModeThatTheOperatorDoesNotAllowIsRefused(t *testing.T) {
	for about, c := range map[string]struct {
		properties, instance map[string]any
		refused              string
	}{
		"none":                      {nil, nil, ""},
		"the other one":             {map[string]any{"boot_mode": "uefi"}, nil, ""},
		"the property":              {map[string]any{"boot_mode": " BIOS"}, nil, "bios"},
		"the node's capability":     {map[string]any{"capabilities": "a:b,boot_mode:bios"}, nil, "bios"},
		"the instance's capability": {nil, map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}}, "bios"},
		"the other of two": {
			map[string]any{"boot_mode": "uefi", "capabilities": "boot_mode:bios"}, nil, "bios",
		},
	} {
		for target, from := range map[string]states.State{"active": states.Available, "rebuild": states.Active} {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.DisallowedBootModes.Deployment = []string{"bios"} })
				n, err := f.CreateNode(f.ctx, &conductor.Node{
					Driver: "fake-hardware", ProvisionState: from, Properties: c.properties, InstanceInfo: c.instance,
				})
				require.NoError(t, err)
				err = f.Provision(f.ctx, n.UUID, f.provision(target))
				if c.refused == "" {
					require.NoError(t, err, about)
					f.settle(n)
					return
				}
				require.ErrorIs(t, err, conductor.Invalid, about)
				require.EqualError(t, err, "'bios' boot mode is not allowed for provisioning operation.", about)
				require.Equal(t, from, f.settle(n).ProvisionState, about)
			})
		}
	}
}
