// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const image = "http://images.example/agent.iso"

func TestTheManagementOfARedfishMachine(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(*conductor.Node) {})
	ctx := t.Context()
	require.NoError(t, server.SetPower("1", "On"))
	lastError := func() string {
		now, err := s.Node(ctx, n.UUID)
		require.NoError(t, err)
		return now.LastError
	}

	require.NoError(t, s.Management(n.UUID).InjectNMI(ctx))
	require.Equal(t, 1, server.NMIs("1"))

	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(ctx, "cdrom", image, ""))
	require.Equal(t, image, server.Media("CD"))
	media, err := s.Management(n.UUID).VirtualMedia(ctx)
	require.NoError(t, err)
	require.Equal(t, []conductor.VirtualMedia{
		{Image: image, Inserted: true, MediaTypes: []string{"CD", "DVD"}}, {MediaTypes: []string{"USBStick", "Floppy"}},
	}, media)
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(ctx, "floppy", image, "local"))
	require.Contains(t, lastError(), "image_download_source local is not supported")
	require.Empty(t, server.Media("USB"))
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(ctx, []string{"cdrom", "disk", "floppy"}))
	require.Empty(t, server.Media("CD"))
	require.Empty(t, lastError())

	require.NoError(t, s.Management(n.UUID).SetBootMode(ctx, "bios"))
	require.Equal(t, "None Disabled Legacy", server.Boot("1"))
	require.NoError(t, s.Management(n.UUID).SetSecureBoot(ctx, true))
	require.False(t, server.SecureBoot("1"))
	require.Contains(t, lastError(), "Failed to change secure_boot state to 'True': ")
	require.Contains(t, lastError(), "requires the boot mode UEFI")
	require.NoError(t, s.Management(n.UUID).SetBootMode(ctx, "uefi"))
	require.Equal(t, "None Disabled UEFI", server.Boot("1"))
	require.NoError(t, s.Management(n.UUID).SetSecureBoot(ctx, true))
	require.False(t, server.SecureBoot("1"), "it is in force from the next boot on")
	s.setPower(n, states.PowerOff)
	s.setPower(n, states.PowerOn)
	require.True(t, server.SecureBoot("1"))
	now, err := s.Node(ctx, n.UUID)
	require.NoError(t, err)
	require.Equal(t, "uefi", now.BootMode)
	require.True(t, *now.SecureBoot)
	require.Empty(t, now.LastError)

	server.AddFault(bmctest.Fault{On: "/redfish/v1/Managers/bmc/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia", Do: bmctest.Status(http.StatusInternalServerError)})
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(ctx, "cdrom", image, "http"))
	require.Contains(t, lastError(), "Could not attach device cdrom to node "+n.UUID+": ")
	require.Empty(t, server.Media("CD"))
}

func TestAnIPMIMachineHasNMIsOnly(t *testing.T) {
	m := machines["ipmi"](t)
	s := start(t, hardware.Config{})
	n := s.node(m, func(*conductor.Node) {})
	_, err := s.Management(n.UUID).VirtualMedia(t.Context())
	require.ErrorIs(t, err, conductor.Unsupported)
	require.NoError(t, s.Management(n.UUID).SetBootMode(t.Context(), "uefi"))
	now, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Contains(t, now.LastError, "does not support set_boot_mode")
	require.Empty(t, now.BootMode)
	require.ErrorContains(t, s.Management(n.UUID).InjectNMI(t.Context()), "Set Chassis Power Control to Diag failed", "ipmi_sim has no NMIs")
}

func TestBIOSSettingsAreAppliedAndReset(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	clean := func(step string, args map[string]any) *conductor.Node {
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: step, Args: args}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		return s.settle(n)
	}
	setting := func(name string, value any) map[string]any { return map[string]any{"name": name, "value": value} }
	cached := func(n *conductor.Node, name string) conductor.BIOSSetting {
		i := slices.IndexFunc(n.BIOSSettings, func(s conductor.BIOSSetting) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0)
		return n.BIOSSettings[i]
	}

	n = clean("apply_configuration", map[string]any{"settings": []any{setting("BootTimeout", "30"), setting("QuietBoot", "False")}})
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, 30, server.BIOS("1")["BootTimeout"])
	require.Equal(t, false, server.BIOS("1")["QuietBoot"])
	require.Equal(t, "On", server.Power("1"))
	require.Equal(t, "30", cached(n, "BootTimeout").Value)
	require.Equal(t, "0", cached(n, "QuietBoot").Value)
	require.Equal(t, "map[attribute_type:Integer lower_bound:0 read_only:false reset_required:true unique:false upper_bound:300]", printed(cached(n, "BootTimeout").Registry))

	n = clean("factory_reset", nil)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "5", cached(n, "BootTimeout").Value)
	require.NotNil(t, cached(n, "BootTimeout").UpdatedAt)

	n = clean("apply_configuration", map[string]any{"settings": []any{setting("BootTimeout", 301)}})
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "BootTimeout")
	require.Equal(t, 5, server.BIOS("1")["BootTimeout"])
}

func TestAVerificationCachesBIOSSettingsAndFirmware(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	versions := func(n *conductor.Node) map[string]string {
		all := map[string]string{}
		for _, c := range n.Firmware {
			all[c.Component] = c.InitialVersion + " " + c.CurrentVersion
		}
		return all
	}
	n := s.request(s.node(redfishMachine(server, t)), "manage")
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, map[string]string{"bios": "1.8.2 1.8.2", "bmc": "2.14.0 2.14.0"}, versions(n))
	require.NotEmpty(t, n.BIOSSettings)
	require.Equal(t, "uefi", n.BootMode)
	require.False(t, *n.SecureBoot)
	require.Equal(t, "ironstate", n.Properties["vendor"])

	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.Property("BiosVersion", "1.9")})
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Managers/bmc", Do: bmctest.Status(http.StatusInternalServerError)})
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Bios", Do: bmctest.Status(http.StatusInternalServerError)})
	request := s.word("clean")
	request.CleanSteps = []conductor.StepRequest{{Interface: "power", Step: "power_on"}}
	require.NoError(t, s.Provision(t.Context(), n.UUID, request))
	cleaned := s.settle(n)
	require.Equal(t, states.Manageable, cleaned.ProvisionState, cleaned.LastError)
	require.Equal(t, map[string]string{"bios": "1.8.2 1.9", "bmc": "2.14.0 2.14.0"}, versions(cleaned))
	require.Equal(t, n.BIOSSettings, cleaned.BIOSSettings)

	without := s.node(redfishMachine(startRedfish(t), t), func(n *conductor.Node) {
		n.Interfaces = map[string]string{"bios": "no-bios", "firmware": "no-firmware"}
	})
	without = s.request(without, "manage")
	require.Equal(t, states.Manageable, without.ProvisionState, without.LastError)
	require.Empty(t, without.BIOSSettings)
	require.Empty(t, without.Firmware)
}
