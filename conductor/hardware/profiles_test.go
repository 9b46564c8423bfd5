// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// withProfile makes a node the machine of a BMC with a profile.
func withProfile(p bmctest.Profile) func(*conductor.Node) {
	return func(n *conductor.Node) { n.DriverInfo["redfish_system_id"] = "/redfish/v1/Systems/" + p.SystemID }
}

// keeps reports whether BMCs with a profile keep a boot device.
func keeps(p bmctest.Profile) bool {
	return p.BootEnabled == nil || slices.Contains(p.BootEnabled, "Continuous")
}

// The agent boots from the network or from virtual media, writes the image, and the machine boots from its disk, also
// later.
func TestADeploymentOnEachFamilyOfBMCs(t *testing.T) {
	for _, p := range bmctest.Profiles() {
		for _, boot := range []string{"ipxe", "redfish-virtual-media"} {
			t.Run(p.Name+" "+boot, func(t *testing.T) {
				l := startLabOn(t, p, states.Available, "direct")
				_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
					n.Interfaces["boot"], n.DriverInfo["deploy_forces_oob_reboot"] = boot, true // the BMC powers the machine off
					if boot != "ipxe" {
						n.DriverInfo["deploy_iso"] = image
					}
					return nil
				})
				require.NoError(t, err)
				l.ask(conductor.ProvisionRequest{Target: "active"})
				n := l.until(states.Active, states.DeployFail)
				require.Equal(t, states.Active, n.ProvisionState, n.LastError)
				require.Equal(t, l.image[512:], l.disk()[512:len(l.image)], "the image is on the disk")
				require.Empty(t, l.bmc.Media(""))
				l.requireRuns("disk")
				require.Equal(t, 2, l.machine.Boots(), "of the agent and of the instance")
				want, device := "Hdd Continuous UEFI", any(nil)
				if !keeps(p) {
					want, device = "None Disabled UEFI", "disk"
				}
				require.Equal(t, want, l.bmc.Boot(p.SystemID))
				require.Equal(t, device, n.DriverInternalInfo["redfish_boot_device"], "set again at each start")
			})
		}
	}
}

func TestALifeOnEachFamilyOfBMCs(t *testing.T) {
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile = p })
			s := start(t, hardware.Config{})
			n := s.request(s.node(redfishMachine(server, t), withProfile(p)), "manage")
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			n = s.request(n, "inspect")
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.EqualValues(t, 65536, n.Properties["memory_mb"])
			require.Equal(t, "x86_64", n.Properties["cpu_arch"])
			require.Len(t, s.portsOf(n), 2)

			ctx := t.Context()
			require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(ctx, "cdrom", image, ""))
			require.Equal(t, image, server.Media(""))
			require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(ctx, []string{"cdrom"}))
			require.Empty(t, server.Media(""))
			require.NoError(t, s.Management(n.UUID).SetSecureBoot(ctx, true))
			s.setPower(n, states.PowerOn)
			require.True(t, server.SecureBoot(p.SystemID))
			require.NoError(t, s.SetBootDevice(ctx, n.UUID, "pxe", true))
			device, persistent, err := s.BootDevice(ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", device)
			require.Equal(t, keeps(p), persistent)
			s.setPower(n, states.PowerOff)
			require.Equal(t, "Off", server.Power(p.SystemID))
			now, err := s.Node(ctx, n.UUID)
			require.NoError(t, err)
			require.Empty(t, now.LastError)
		})
	}
}

// The machine applies a BIOS setting in a manual cleaning, and the record then has the settings with the attributes
// of the registry.
func TestBIOSSettingsOfEachFamilyOfBMCsAreApplied(t *testing.T) {
	for _, p := range bmctest.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			l := startLabOn(t, p, states.Manageable, "direct")
			l.ask(conductor.ProvisionRequest{Target: "clean", CleanSteps: []conductor.StepRequest{{
				Interface: "bios", Step: "apply_configuration",
				Args: map[string]any{"settings": []any{map[string]any{"name": "PowerProfile", "value": "PowerSaving"}}},
			}}})
			n := l.until(states.Manageable, states.CleanFail)
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.Equal(t, "PowerSaving", l.bmc.BIOS(p.SystemID)["PowerProfile"])
		})
	}
}
