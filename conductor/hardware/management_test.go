// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

	server.AddFault(bmctest.Fault{
		On: "/redfish/v1/Managers/bmc/VirtualMedia/CD/Actions/VirtualMedia.InsertMedia",
		Do: bmctest.Status(http.StatusForbidden),
	})
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(ctx, "cdrom", image, "http"))
	require.Contains(t, lastError(), "Could not attach device cdrom to node "+n.UUID+": Redfish exception occurred. "+
		"Error: Failed to insert virtual media of node "+n.UUID)
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
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile.BIOSPassword = "AdminPassword" })
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
	require.Equal(t, "map[attribute_type:Integer lower_bound:0 read_only:false reset_required:true unique:false upper_bound:300]",
		printed(cached(n, "BootTimeout").Registry))

	require.Nil(t, cached(n, "AdminPassword").Value)
	n = clean("apply_configuration", map[string]any{"settings": []any{setting("AdminPassword", "correct horse")}})
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "correct horse", server.BIOS("1")["AdminPassword"])
	require.Nil(t, cached(n, "AdminPassword").Value)

	n = clean("factory_reset", nil)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "5", cached(n, "BootTimeout").Value)
	require.NotNil(t, cached(n, "BootTimeout").UpdatedAt)

	n = clean("apply_configuration", map[string]any{"settings": []any{setting("BootTimeout", 301)}})
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "BootTimeout")
	require.Equal(t, 5, server.BIOS("1")["BootTimeout"])
}

// biosReads counts the reads of the BIOS settings among requests, and those before the first request that changes them.
func biosReads(requests []bmctest.Request) (all, before int) {
	before = -1
	for _, r := range requests {
		switch {
		case r.Path == biosPath && r.Method == http.MethodGet:
			all++
		case before < 0 && strings.HasPrefix(r.Path, biosPath):
			before = all
		}
	}
	return all, before
}

const biosPath = systemPath + "/Bios"

func TestABIOSSettingThatTheBMCDoesNotDescribeIsSentOnlyIfConfigured(t *testing.T) {
	for sends, want := range map[bool]states.State{true: states.Manageable, false: states.CleanFail} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: "/redfish/v1/Registries", Do: bmctest.Status(http.StatusNotFound)})
		s := start(t, hardware.Config{AnyBIOSSetting: sends})
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "apply_configuration", Args: map[string]any{
			"settings": []any{map[string]any{"name": "BootTimeout", "value": 30}},
		}}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		n = s.settle(n)
		require.Equal(t, want, n.ProvisionState, n.LastError)
		require.Equal(t, map[bool]int{true: 30, false: 5}[sends], server.BIOS("1")["BootTimeout"])
	}
}

func TestABIOSStepEndsWhenTheBMCReportsTheSettings(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	work := func(step string, args map[string]any) *conductor.Node {
		_, err := s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error {
			n.Maintenance = false
			return nil
		})
		require.NoError(t, err)
		if n.ProvisionState == states.CleanFail {
			require.NoError(t, s.Provision(t.Context(), n.UUID, s.word("manage")))
			s.settle(n)
		}
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: step, Args: args}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		return s.settle(n)
	}
	apply := func(value int) *conductor.Node {
		return work("apply_configuration", map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": value}}})
	}
	cached := func(n *conductor.Node) any {
		i := slices.IndexFunc(n.BIOSSettings, func(s conductor.BIOSSetting) bool { return s.Name == "BootTimeout" })
		return n.BIOSSettings[i].Value
	}
	n = apply(30)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	reads, before := biosReads(server.Requests())

	old := bmctest.Property("Attributes", server.BIOS("1"))
	late := bmctest.Fault{On: biosPath, Method: http.MethodGet, Skip: before, Times: 3, Do: old}
	server.AddFault(late)
	s.redfish.AwaitBIOS(time.Hour, time.Millisecond)
	n = apply(40)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "40", cached(n))
	both, _ := biosReads(server.Requests())
	require.Equal(t, 2*reads+3, both)

	late.Times, late.Do = 0, bmctest.Property("Attributes", server.BIOS("1"))
	server.AddFault(late)
	s.redfish.AwaitBIOS(20*time.Millisecond, time.Millisecond)
	n = apply(50)
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Redfish BIOS apply_configuration step failed. Attributes {'BootTimeout': 50} are not updated.")

	require.NoError(t, server.ClearFaults())
	late.Do = bmctest.Status(http.StatusInternalServerError)
	server.AddFault(late)
	n = apply(60)
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Attributes {'BootTimeout': '***'} are not updated.", "it may be a password for all that is known")
	require.Contains(t, n.LastError, "500")

	require.NoError(t, server.ClearFaults())
	requests := len(server.Requests())
	n = work("factory_reset", nil)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	_, late.Skip = biosReads(server.Requests()[requests:])
	server.AddFault(late)
	n = work("factory_reset", nil)
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "500")
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

func TestARefusalHasIronicsTextUnlessTheBMCLacksTheFunction(t *testing.T) {
	for _, lacks := range []bool{false, true} {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) {
			if lacks {
				c.Profile.ResetTypes = []string{"On"}
			}
		})
		server.AddFault(bmctest.Fault{On: resetPath, Do: bmctest.Status(http.StatusInternalServerError)})
		n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
		err := newRedfish(t, hardware.Config{}).InjectNMI(t.Context(), n)
		require.Equal(t, lacks, errors.Is(err, conductor.Unsupported))
		require.Equal(t, !lacks, strings.Contains(err.Error(), "Redfish inject NMI failed for node 1. Error: "), "%v", err)
	}
}

func TestAFailureOfVirtualMediaHasItsTextUnlessTheBMCHasNoneForTheDevice(t *testing.T) {
	for _, lacks := range []bool{false, true} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: insertPath, Do: bmctest.Status(http.StatusInternalServerError)})
		if lacks {
			server.AddFault(bmctest.Fault{On: slotPath, Do: bmctest.Property("MediaTypes", []string{"Floppy"})})
		}
		n := &conductor.Node{UUID: "1", Driver: "redfish", DriverInfo: redfishInfo(t, server)}
		err := newRedfish(t, hardware.Config{}).AttachVirtualMedia(t.Context(), n, "cdrom", image)
		require.Equal(t, lacks, errors.Is(err, conductor.Unsupported))
		require.Equal(t, !lacks, strings.Contains(err.Error(), "Failed to insert virtual media of node 1: "), "%v", err)
	}
}
