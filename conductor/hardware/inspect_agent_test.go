// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	diskfile "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// agentSite is a site whose machine boots agents.
type agentSite struct {
	*site
	server  *bmctest.Redfish
	machine *agenttest.Machine
	files   string        // URL of a kernel and so on
	waits   chan struct{} // closed when the node waits: a real agent needs a minute to boot
}

// startAgents starts a site with an API and a machine that boots an agent from the network, or from the CD with the
// kernel parameters in the image.
func startAgents(t *testing.T, set func(*agenttest.Config)) *agentSite {
	t.Helper()
	config, _, files := serveImages(t)
	a := &agentSite{files: files, waits: make(chan struct{})}
	var handler http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	config.APIURL = web.URL
	boots := func(ctx context.Context, source, image string) (string, bool) {
		select {
		case <-a.waits:
			if source == "Pxe" {
				parameters, err := agenttest.BootIPXE(ctx, newClient(), a.script(), []string{"52:54:00:00:00:01", "52:54:00:00:00:02"})
				return parameters, err == nil
			}
			return bootsFromISO(ctx, source, image)
		case <-ctx.Done():
			return "", false
		}
	}
	c := agenttest.Config{API: web.URL, Boots: boots, MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}}
	set(&c)
	var err error
	a.machine, err = agenttest.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.machine.Close()) })
	a.server = startRedfish(t, func(c *bmctest.RedfishConfig) {
		c.Systems = []bmctest.System{{ID: "1", OnPower: a.machine.Power, Hardware: bmctest.Hardware{MACs: []string{"52:54:00:00:00:02"}}}}
	})
	a.site = start(t, config)
	handler = api.New(a.Conductor, api.Config{})
	return a
}

// newClient returns a client that keeps no connection open.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// script returns the URL of the script that all machines load.
func (a *agentSite) script() string {
	return strings.TrimSuffix(a.files, "files/") + "images/boot.ipxe"
}

var bootLine = regexp.MustCompile(`(?m)^\tlinux /vmlinuz (.*)$`)

// bootsFromISO boots an agent with the kernel parameters in an image that was built.
func bootsFromISO(ctx context.Context, source, image string) (parameters string, agent bool) {
	if source != "Cd" {
		return "", false
	}
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return "", false
	}
	defer os.RemoveAll(folder)
	file, err := os.Create(filepath.Join(folder, "boot.iso"))
	if err != nil {
		return "", false
	}
	defer file.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, image, nil)
	if err != nil {
		return "", false
	}
	answer, err := newClient().Do(request)
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	if _, err := io.Copy(file, answer.Body); err != nil {
		return "", false
	}
	system, err := iso9660.Read(diskfile.New(file, true), 0, 0, 0)
	if err != nil {
		return "", false
	}
	text, err := system.ReadFile("EFI/BOOT/grub.cfg")
	line := bootLine.FindStringSubmatch(string(text))
	if err != nil || line == nil {
		return "", false
	}
	return strings.ReplaceAll(line[1], "'", ""), true
}

// inspected enrolls the machine, without ports, and inspects it.
func (a *agentSite) inspected(boot string) *conductor.Node {
	n := a.node(redfishMachine(a.server, a.t), withMedia(states.Manageable, "custom-agent", map[string]any{
		"deploy_kernel": a.files + "k", "deploy_ramdisk": a.files + "r", "bootloader": a.files + "esp",
	}, nil), func(n *conductor.Node) { n.Interfaces["boot"], n.Interfaces["inspect"] = boot, "agent" })
	n = a.request(n, "inspect")
	require.Equal(a.t, states.InspectWait, n.ProvisionState, n.LastError)
	close(a.waits)
	return a.settle(n)
}

func TestAnInspectionWhoseMediumStaysInsertedFails(t *testing.T) {
	a := startAgents(t, func(*agenttest.Config) {})
	a.server.AddFault(bmctest.Fault{On: ejectPath, Do: bmctest.Status(http.StatusUnauthorized)})
	n := a.inspected("redfish-virtual-media")
	require.Equal(t, states.InspectFail, n.ProvisionState)
	require.Contains(t, n.LastError, "eject")
}

func TestAnInspectionWithUnusableDataEndsOff(t *testing.T) {
	a := startAgents(t, func(c *agenttest.Config) {
		c.Collect = func(data map[string]any) { data["error"] = "no disk" }
	})
	n := a.inspected("redfish-virtual-media")
	require.Equal(t, states.InspectFail, n.ProvisionState)
	require.Contains(t, n.LastError, "no disk")
	a.await(n, func(n *conductor.Node) bool { return n.CleanUp == nil && n.Reservation == "" })
	require.Equal(t, "Off", a.server.Power("1"))
	require.Empty(t, a.server.Media("CD"))
	require.Empty(t, n.Agent.Token)
}

func TestAnAgentInspectsItsMachine(t *testing.T) {
	for _, boot := range []string{"redfish-virtual-media", "ipxe"} {
		t.Run(boot, func(t *testing.T) {
			a := startAgents(t, func(c *agenttest.Config) {
				c.Collect = func(data map[string]any) { data["logs"] = "H4sI" }
			})
			n := a.inspected(boot)
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOff, n.Power)
			require.Equal(t, "Off", a.server.Power("1"))
			require.Empty(t, a.server.Media("CD"))
			require.Equal(t, "x86_64", n.Properties["cpu_arch"])
			require.Empty(t, n.Agent.Token, "the next agent needs its own")

			o, err := a.Object(t.Context(), conductor.KindInventory, n.UUID)
			require.NoError(t, err)
			stored := o.(*conductor.Inventory)
			require.Equal(t, "vm", stored.Inventory["hostname"])
			require.NotContains(t, stored.PluginData, "logs")
			require.Len(t, stored.PluginData["all_interfaces"], 2)
			require.Equal(t, []any{"52:54:00:00:00:01"}, stored.PluginData["macs"])
		})
	}
}

// A machine whose node has no port boots its agent by ipxe, which needs the addresses of the machine.
func TestAnInspectionByTheAgentCreatesPortsOfTheBMCsInterfaces(t *testing.T) {
	for _, boot := range []string{"ipxe", "redfish-virtual-media"} {
		a := startAgents(t, func(*agenttest.Config) {})
		n := a.inspected(boot)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Contains(t, a.portsOf(n), "52:54:00:00:00:02", "the BMC's, which the agent's own inventory would not have created")
	}
}

func TestAnInspectionByTheAgentCreatesNoPortsOfTheBMCsInterfacesIfConfigured(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{SkipBMCPorts: true})
	n := s.node(redfishMachine(server, t), withMedia(states.Manageable, "custom-agent", map[string]any{"deploy_iso": image}, nil),
		func(n *conductor.Node) { n.Interfaces["inspect"] = "agent" })
	n = s.request(n, "inspect")
	require.Equal(t, states.InspectWait, n.ProvisionState, n.LastError)
	ports, err := s.ObjectsOf(t.Context(), conductor.KindPort, n.UUID)
	require.NoError(t, err)
	require.Empty(t, ports)
	for _, r := range server.Requests() {
		require.NotContains(t, r.Path, "EthernetInterfaces")
	}
}

func TestAnInspectionByTheAgentFailsIfTheBMCsInterfacesCannotBeRead(t *testing.T) {
	a := startAgents(t, func(*agenttest.Config) {})
	a.server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/EthernetInterfaces", Do: bmctest.Status(http.StatusForbidden)})
	n := a.node(redfishMachine(a.server, t), withMedia(states.Manageable, "custom-agent", map[string]any{
		"deploy_kernel": a.files + "k", "deploy_ramdisk": a.files + "r",
	}, nil), func(n *conductor.Node) { n.Interfaces["boot"], n.Interfaces["inspect"] = "ipxe", "agent" })
	n = a.request(n, "inspect")
	require.Equal(t, states.InspectFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Failed to get network interface information on node "+n.UUID)

	require.NoError(t, a.server.ClearFaults())
	a.server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.WithoutProperty("EthernetInterfaces")})
	_, err := a.CreateObject(t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:00:00:02"})
	require.NoError(t, err)
	n = a.request(n, "inspect")
	require.Equal(t, states.InspectWait, n.ProvisionState, "a BMC without interfaces is no reason: %s", n.LastError)
}

func TestAnInspectionByTheAgentFailsIfItsRamdiskCannotBeBooted(t *testing.T) {
	a := startAgents(t, func(*agenttest.Config) {})
	a.server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Do: bmctest.WithoutProperty("EthernetInterfaces")})
	for boot, text := range map[string]string{
		"ipxe":                  "does not have any port associated with it",
		"redfish-virtual-media": "driver_info has no bootloader",
	} {
		n := a.node(redfishMachine(a.server, t), withMedia(states.Manageable, "custom-agent", map[string]any{
			"deploy_kernel": a.files + "k", "deploy_ramdisk": a.files + "r",
		}, nil), func(n *conductor.Node) { n.Interfaces["boot"], n.Interfaces["inspect"] = boot, "agent" })
		if boot != "ipxe" {
			require.ErrorContains(t, a.Provision(t.Context(), n.UUID, a.word("inspect")), text)
			continue
		}
		n = a.request(n, "inspect")
		require.Equal(t, states.InspectFail, n.ProvisionState, boot)
		require.Contains(t, n.LastError, text)
		require.Equal(t, "Off", a.server.Power("1"))
	}
}
