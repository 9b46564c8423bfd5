// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	slotPath   = "/redfish/v1/Managers/bmc/VirtualMedia/CD"
	insertPath = slotPath + "/Actions/VirtualMedia.InsertMedia"
	ejectPath  = slotPath + "/Actions/VirtualMedia.EjectMedia"
	systemPath = "/redfish/v1/Systems/1"
	resetPath  = systemPath + "/Actions/ComputerSystem.Reset"
)

// changes lists the requests to a BMC that change the machine.
func changes(server *bmctest.Redfish) (list []string) {
	for _, r := range server.Requests() {
		if r.Method != http.MethodGet && !strings.Contains(r.Path, "/SessionService/") {
			list = append(list, r.Method+" "+r.Path)
		}
	}
	return list
}

// overrides returns a function that lists the boot overrides that were set at a BMC.
func overrides(server *bmctest.Redfish) func() []string {
	var mu sync.Mutex
	var set []string
	note := bmctest.Change("note the override", func(_ http.Header, body []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		set = append(set, server.Boot("1"))
		return body
	})
	server.AddFault(bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: note})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return set
	}
}

// withMedia makes a node boot from virtual media, by a deploy interface.
func withMedia(state states.State, deploy string, driverInfo, instanceInfo map[string]any) func(*conductor.Node) {
	return func(n *conductor.Node) {
		n.ProvisionState, n.InstanceInfo = state, instanceInfo
		n.Interfaces = map[string]string{"boot": "redfish-virtual-media", "deploy": deploy}
		for key, value := range driverInfo {
			n.DriverInfo[key] = value
		}
	}
}

func TestAReadyImageIsBootedOnceAndEjected(t *testing.T) {
	server := startRedfish(t)
	require.NoError(t, server.SetPower("1", "On"))
	set := overrides(server)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{"deploy_iso": image}, nil))
	require.NoError(t, s.Management(n.UUID).AttachVirtualMedia(t.Context(), "cdrom", "http://images.example/old.iso", ""))
	before := len(changes(server))
	_, err := s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error {
		n.Agent.Token, n.Agent.TokenPregenerated = "0123456789", true // for an image that was built
		return nil
	})
	require.NoError(t, err)

	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"POST " + resetPath, "POST " + ejectPath, "POST " + insertPath, "PATCH " + systemPath, "POST " + resetPath},
		changes(server)[before:])
	require.Equal(t, []string{"Cd Once UEFI"}, set())
	require.Equal(t, image, server.Media("CD"))
	require.Equal(t, "On", server.Power("1"))
	require.Empty(t, n.Agent.Token, "the agent in a ready image receives a token at its lookup")
	_, token, err := s.Lookup(t.Context(), netip.MustParseAddr("192.0.2.7"), nil, n.UUID)
	require.NoError(t, err)
	require.NotEmpty(t, token)

	before = len(changes(server))
	require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
	n = s.settle(n)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"PATCH " + systemPath, "POST " + resetPath, "POST " + ejectPath, "POST " + resetPath}, changes(server)[before:],
		"the image of a running agent is ejected after the power off")
	require.Equal(t, "Hdd Continuous UEFI", server.Boot("1"))
	require.Empty(t, server.Media("CD"))
}

func TestAnImageIsBuiltForTheAgentWithItsToken(t *testing.T) {
	server := startRedfish(t)
	config, folder, files := serveImages(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "esp.img"), []byte("esp"), 0o600))
	s := start(t, config)
	n := s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{
		"deploy_kernel": files + "ipa.kernel", "deploy_ramdisk": files + "ipa.initramfs", "bootloader": "file://" + folder + "/esp.img",
		"kernel_append_params": "%default% ipa-debug=1",
	}, nil), func(n *conductor.Node) { n.NetworkData = map[string]any{"links": []any{}} })
	n = s.request(n, "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)

	token := n.Agent.Token
	require.GreaterOrEqual(t, len(token), 32, "an agent ignores a shorter one")
	location := server.Media("CD")
	status, contents := readImage(t, location)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "content of /files/ipa.kernel", contents["vmlinuz"])
	require.Equal(t, "content of /files/ipa.initramfs", contents["initrd"])
	require.Equal(t, "esp", contents["boot/grub/efiboot.img"])
	require.JSONEq(t, `{"links": []}`, contents["openstack/latest/network_data.json"])
	require.Regexp(t, `linux /vmlinuz 'nofb' 'vga=normal' 'ipa-debug=1' 'ir_pub_id=[0-9a-f-]{36}' 'boot_method=vmedia' `+
		`'ipa-agent-token=`+token+`' 'ipa-api-url=http://192.0.2.1:6385'\n`, contents["EFI/BOOT/grub.cfg"])

	_, again, err := s.Lookup(t.Context(), netip.MustParseAddr("192.0.2.7"), nil, n.UUID)
	require.NoError(t, err)
	require.Empty(t, again, "the agent has it from its image")

	require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
	n = s.settle(n)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Empty(t, n.Agent.Token)
	status, _ = readImage(t, location)
	require.Equal(t, http.StatusNotFound, status, "it contains the token")
	left, err := os.ReadDir(filepath.Join(folder, "unfinished"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// publisher returns the publisher identifier of an image.
func publisher(t *testing.T, location string) string {
	t.Helper()
	answer, err := newClient().Get(location)
	require.NoError(t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return strings.TrimSpace(string(content[32768+318 : 32768+446]))
}

func TestAnAgentRecognizesItsImageByThePublisher(t *testing.T) {
	server := startRedfish(t)
	config, _, files := serveImages(t)
	s := start(t, config)
	n := s.request(s.node(redfishMachine(server, t), withMedia(states.Available, "custom-agent", map[string]any{
		"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "bootloader": files + "esp",
	}, nil)), "active")
	require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
	_, contents := readImage(t, server.Media("CD"))
	require.Contains(t, contents["EFI/BOOT/grub.cfg"], "'ir_pub_id="+publisher(t, server.Media("CD"))+"'")
	require.NotContains(t, contents, "openstack/latest/network_data.json", "the node has none")
}

func TestAnInstanceIsBootedFromItsImageAlways(t *testing.T) {
	config, folder, files := serveImages(t)
	esp := "file://" + folder + "/esp.img"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "esp.img"), []byte("esp"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "isolinux.bin"), make([]byte, 4096), 0o600))
	for name, test := range map[string]struct {
		driver, instance map[string]any
		boot             string
		config           string // the file with the boot loader's configuration
	}{
		"a ready image": {nil, map[string]any{"boot_iso": image}, "Cd Continuous UEFI", ""},
		"kernel and ramdisk": {map[string]any{"bootloader": esp},
			map[string]any{"kernel": files + "k", "ramdisk": files + "r", "ramdisk_kernel_arguments": "console=ttyS0"},
			"Cd Continuous UEFI", "EFI/BOOT/grub.cfg"},
		"kernel and ramdisk in BIOS mode": {nil,
			map[string]any{
				"kernel":                   files + "k",
				"ramdisk":                  files + "r",
				"ramdisk_kernel_arguments": "console=ttyS0",
				"capabilities":             map[string]any{"boot_mode": "bios"},
			},
			"Cd Continuous Legacy", "isolinux/isolinux.cfg"},
		"once": {map[string]any{"force_persistent_boot_device": "Never"}, map[string]any{"boot_iso": image}, "None Disabled UEFI", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			s := start(t, config)
			n := s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", test.driver, test.instance))
			n = s.request(n, "active")
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, []string{"POST " + insertPath, "PATCH " + systemPath, "POST " + resetPath}, changes(server))
			require.Equal(t, "On", server.Power("1"))
			require.Equal(t, test.boot, server.Boot("1"))
			require.Empty(t, n.Agent.Token)
			if test.config == "" {
				require.Equal(t, image, server.Media("CD"))
			} else {
				_, contents := readImage(t, server.Media("CD"))
				require.Contains(t, contents[test.config], "console=ttyS0")
				require.NotContains(t, contents[test.config], "ipa-")
				require.Empty(t, publisher(t, server.Media("CD")))
			}

			location := server.Media("CD")
			n = s.request(n, "deleted")
			require.Equal(t, states.Available, n.ProvisionState, n.LastError)
			require.Equal(t, "Off", server.Power("1"))
			require.Empty(t, server.Media("CD"))
			if test.config != "" {
				status, _ := readImage(t, location)
				require.Equal(t, http.StatusNotFound, status)
			}
		})
	}
}

func TestAnInsertionIsAwaitedBeforeTheMachineBoots(t *testing.T) {
	server := startRedfish(t)
	set := func(n *conductor.Node) {
		withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image})(n)
	}
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), set)
	asked := len(server.Requests())
	server.AddFault(bmctest.Fault{On: slotPath, Skip: 2, Times: 1, Do: bmctest.Property("Inserted", false)})
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	reads, boots := 0, 0
	for i, r := range server.Requests()[asked:] {
		switch r.Method + " " + r.Path {
		case "GET " + slotPath:
			reads++
		case "PATCH " + systemPath:
			boots = i
		}
	}
	require.Positive(t, boots)
	require.GreaterOrEqual(t, reads, 4)

	server = startRedfish(t)
	server.AddFault(bmctest.Fault{On: slotPath, Do: bmctest.Property("Inserted", false)})
	s = start(t, hardware.Config{MediaTimeout: 10 * time.Millisecond})
	n = s.request(s.node(redfishMachine(server, t), set), "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "the BMC has not inserted the image within 10ms")
	require.Equal(t, "Off", server.Power("1"))
	require.Equal(t, []string{"POST " + insertPath}, changes(server))
}

func TestAFailedDeploymentOfARamdiskEjectsItsCD(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: resetPath, Do: bmctest.Status(http.StatusInternalServerError)})
	s := start(t, hardware.Config{})
	n := s.request(s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image})), "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.NotContains(t, n.LastError, "clean up")
	require.Contains(t, changes(server), "POST "+insertPath)
	require.Empty(t, server.Media("CD"))
}

func TestAFailedInsertionBootsNothing(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: insertPath, Do: bmctest.Status(http.StatusForbidden)})
	s := start(t, hardware.Config{})
	n := s.request(s.node(redfishMachine(server, t), withMedia(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image})), "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "insert virtual media")
	require.Equal(t, "Off", server.Power("1"))
	require.NotContains(t, changes(server), "PATCH "+systemPath)

	config, _, files := serveImages(t)
	s = start(t, config)
	n = s.request(s.node(redfishMachine(startRedfish(t), t),
		withMedia(states.Available, "ramdisk", map[string]any{"bootloader": files + "esp"},
			map[string]any{"kernel": "http://127.0.0.1:1/kernel?signature=horse", "ramdisk": files + "r"})), "active")
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "provide the image to boot: download from 127.0.0.1:1: ")
	require.NotContains(t, n.LastError, "horse")
}

func TestARescueBootsItsOwnRamdisk(t *testing.T) {
	b := newRedfish(t, hardware.Config{})
	n := with("redfish", nil)
	withMedia(states.Rescuing, "custom-agent", map[string]any{"rescue_iso": "ftp://images.example/rescue.iso", "deploy_iso": image}, nil)(n)
	require.ErrorContains(t, b.Validate(n)["boot"], "rescue_iso in driver_info")
	delete(n.DriverInfo, "rescue_iso")
	require.NoError(t, b.Validate(n)["boot"], "deploy_iso in its place")
}
