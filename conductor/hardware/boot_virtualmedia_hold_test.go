// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// holder is a membership that ends once a BMC has received a number of requests that change the machine.
type holder struct {
	server *bmctest.Redfish
	end    atomic.Int32
	asked  atomic.Int32 // after the end
}

func (h *holder) Alive(context.Context, string) (bool, error) { return true, nil }

func (h *holder) Holds(string) bool {
	if len(changes(h.server)) < int(h.end.Load()) {
		return true
	}
	h.asked.Add(1)
	return false
}

func (h *holder) Join(ctx context.Context, self conductor.Member) iter.Seq2[[]conductor.Member, error] {
	return func(yield func([]conductor.Member, error) bool) {
		if yield([]conductor.Member{self}, nil) {
			<-ctx.Done()
		}
	}
}

func TestEachRequestOfABootNeedsTheReservation(t *testing.T) {
	for count := range 5 { // power off, eject, insert, boot device, power on
		server := startRedfish(t)
		require.NoError(t, server.SetPower("1", "On"))
		m := redfishMachine(server, t)
		membership := &holder{server: server}
		membership.end.Store(1000)
		s := start(t, hardware.Config{}, func(c *conductor.Config) { c.Membership, c.ShutdownTimeout = membership, time.Millisecond })
		n := s.node(m, withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image}))
		require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(t.Context(), "cdrom", "http://images.example/old.iso", ""))
		before := len(changes(server))
		membership.end.Store(int32(before + count))
		require.NoError(t, s.Provision(t.Context(), n.UUID, s.word("active")))
		for membership.asked.Load() <= 2 {
			time.Sleep(time.Millisecond)
		}
		require.Len(t, changes(server)[before:], count)
	}
}

func TestClientsDoNotChangeTheCDThatIsInUseByAnotherDeviceOfItsSlot(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Profile = bmctest.Supermicro() })
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil))
	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	before := len(changes(server))
	for name, change := range map[string]func(m conductor.NodeManagement) error{
		"attach": func(m conductor.NodeManagement) error { return m.AttachVirtualMedia(t.Context(), "disk", image, "") },
		"detach": func(m conductor.NodeManagement) error {
			return m.DetachVirtualMedia(t.Context(), []string{"floppy", "disk"})
		},
		"all": func(m conductor.NodeManagement) error { return m.DetachVirtualMedia(t.Context(), nil) },
	} {
		require.NoError(t, change(s.Management(n.UUID)), name)
		now, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Contains(t, now.LastError, "the machine uses its CD", name)
		require.Len(t, changes(server), before, name)
	}
}

func TestClientsDoNotChangeTheCDThatIsInUse(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil))
	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	lastError := func() string {
		now, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return now.LastError
	}
	const other = "http://images.example/data.iso"
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(t.Context(), "cdrom", other, ""))
	require.Equal(t, "Could not attach device cdrom to node "+n.UUID+
		`: the machine uses its CD in the provision state "wait call-back" with the boot interface redfish-virtual-media`, lastError())
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(t.Context(), []string{"cdrom"}))
	require.Contains(t, lastError(), "the machine uses its CD")
	require.Equal(t, image, server.Media("CD"))
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(t.Context(), "disk", other, ""))
	require.Equal(t, other, server.Media("USB"))

	require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
	n = s.settle(n)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, other, server.Media("USB"), "a boot leaves the other slots")
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(t.Context(), "cdrom", other, ""))
	require.Empty(t, lastError())
	require.Equal(t, other, server.Media("CD"))
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(t.Context(), []string{}))
	require.Equal(t, []string{other, other}, []string{server.Media("CD"), server.Media("USB")}, "no device is named")

	n = s.node(redfishMachine(startRedfish(t), t), withMedia(states.Active, "ramdisk", nil, map[string]any{"boot_iso": image}))
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(t.Context(), []string{"cdrom"}))
	require.Contains(t, lastError(), `in the provision state "active"`, "the instance runs from it")

	beforeHeartbeat := func(n *conductor.Node) { n.Power, n.Agent.Token = states.PowerOn, "0123456789" }
	n = s.node(redfishMachine(startRedfish(t), t),
		withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil), beforeHeartbeat)
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(t.Context(), []string{"cdrom"}))
	require.Contains(t, lastError(), `in the provision state "available"`, "an agent that stays by fast track runs from it")
}

func TestAnInstanceWithSecureBootHasItUntilItsTearDown(t *testing.T) {
	served, _, _ := serveImages(t)
	for _, test := range []struct {
		config hardware.Config
		boot   string
	}{{hardware.Config{}, "ipxe"}, {served, "ipxe"}, {hardware.Config{}, "redfish-virtual-media"}} {
		boot, driverInfo := test.boot, map[string]any{}
		if boot == "redfish-virtual-media" {
			driverInfo["deploy_iso"] = image
		}
		server := startRedfish(t)
		s := start(t, test.config)
		n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", driverInfo, map[string]any{
			"capabilities": map[string]any{"secure_boot": "true", "boot_mode": "bios"}, // Ironic ignores the mode
		}), func(n *conductor.Node) { n.Interfaces["boot"] = boot })
		require.NoError(t, s.Management(n.UUID).SetBootMode(t.Context(), "bios"))
		n = s.request(n, "active")
		require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
		require.False(t, server.SecureBoot("1"), "the agent boots without it")
		require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
		n = s.settle(n)
		require.Equal(t, states.Active, n.ProvisionState, n.LastError)
		require.True(t, server.SecureBoot("1"))
		require.True(t, *n.SecureBoot)
		require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"))

		n = s.request(n, "deleted")
		require.Equal(t, states.Available, n.ProvisionState, n.LastError)
		require.False(t, *n.SecureBoot)
		require.NoError(t, server.SetPower("1", "Off"))
		s.setPower(n, states.PowerOn)
		require.False(t, server.SecureBoot("1"), "from the next boot on")
	}
}

func TestAMachineInBIOSModeChangesItsModeBeforeSecureBoot(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{
		"boot_iso": image, "capabilities": map[string]any{"secure_boot": "true"},
	}))
	require.NoError(t, s.Management(n.UUID).SetBootMode(t.Context(), "bios"))
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.True(t, *n.SecureBoot)
	require.Contains(t, server.Boot("1"), "UEFI")
}

// deployByImage deploys a new node by an image of its own, which its BMC has in a slot until the deployment ends.
func (s *site) deployByImage(server *bmctest.Redfish, slot string) *conductor.Node {
	s.t.Helper()
	n := s.node(redfishMachine(server, s.t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil))
	n = s.request(n, "active")
	require.Equal(s.t, states.DeployWait, n.ProvisionState, n.LastError)
	require.Equal(s.t, image, server.Media(slot))
	require.NoError(s.t, s.Resume(s.t.Context(), n.UUID, nil))
	n = s.settle(n)
	require.Equal(s.t, states.Active, n.ProvisionState, n.LastError)
	require.Empty(s.t, server.Media(slot))
	return n
}

// Some BMCs refuse to eject an image, and insert another one all the same.
func TestAnImageThatTheBMCKeepsFailsNoDeployment(t *testing.T) {
	const other = "/redfish/v1/Managers/bmc/VirtualMedia/old"
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Profile.ManagerSlots = []bmctest.Slot{{ID: "CD", MediaTypes: []string{"CD"}}, {ID: "old", MediaTypes: []string{"CD"}}}
	})
	server.AddFault(bmctest.Fault{On: other, Do: bmctest.StaleMedia("http://images.example/old.iso")})
	server.AddFault(bmctest.Fault{On: other + "/Actions/VirtualMedia.EjectMedia", Do: bmctest.Status(http.StatusInternalServerError)})
	var log lockedBuffer
	s := start(t, hardware.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	n := s.deployByImage(server, "CD")
	require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"))
	require.Equal(t, 1, log.count("a BMC does not eject the image"))

	n = s.request(n, "deleted")
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	require.NoError(t, s.Management(n.UUID).DetachVirtualMedia(t.Context(), []string{"cdrom"}))
	n, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Contains(t, n.LastError, "eject", "a client asks for the ejection itself")

	server.AddFault(bmctest.Fault{Method: http.MethodPost, Do: bmctest.Status(http.StatusForbidden),
		If: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "InsertMedia") }})
	n = s.request(n, "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "insert virtual media")
	require.Contains(t, n.LastError, "eject virtual media")
}

func TestATearDownNeedsNoVirtualMedia(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), withMedia(states.Active, "ramdisk", nil, map[string]any{"boot_iso": image}))
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Managers/bmc", Do: bmctest.WithoutProperty("VirtualMedia")})
	n = s.request(n, "deleted")
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
}
