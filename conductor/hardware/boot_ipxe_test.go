// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

const scriptMAC = "52:54:00:00:00:02"

// withScript makes a node boot by iPXE, with a deploy interface.
func withScript(state states.State, deploy string, driverInfo, instanceInfo map[string]any) func(*conductor.Node) {
	return func(n *conductor.Node) {
		withMedia(state, deploy, driverInfo, instanceInfo)(n)
		n.Interfaces["boot"] = "ipxe"
	}
}

// scripted enrolls a machine with a port.
func (s *site) scripted(m testMachine, set ...func(*conductor.Node)) *conductor.Node {
	s.t.Helper()
	n := s.node(m, set...)
	_, err := s.CreateObject(s.t.Context(), &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: scriptMAC})
	require.NoError(s.t, err)
	return n
}

// loadScript boots iPXE with the script that all machines load.
func loadScript(t *testing.T, files string) (parameters string, err error) {
	t.Helper()
	return agenttest.BootIPXE(t.Context(), newClient(), strings.TrimSuffix(files, "files/")+"images/boot.ipxe",
		[]string{"52:54:00:00:00:01", scriptMAC})
}

func TestAnAgentBootsFromTheServedScript(t *testing.T) {
	for driver, machine := range machines {
		t.Run(driver, func(t *testing.T) {
			m := machine(t)
			config, _, files := serveImages(t)
			s := start(t, config)
			n := s.scripted(m, withScript(states.Available, "custom-agent", map[string]any{
				"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "kernel_append_params": "%default% console=ttyS0,115200",
			}, nil))
			n = s.request(n, "active")
			require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
			require.Equal(t, "on", m.power())
			parameters, err := loadScript(t, files)
			require.NoError(t, err)
			require.Equal(t, "nofb vga=normal console=ttyS0,115200 ipa-api-url="+config.APIURL+" BOOTIF="+scriptMAC, parameters)
			published, err := config.Images.Published(n.UUID)
			require.NoError(t, err)
			require.Len(t, published, 3)

			require.NoError(t, s.Resume(t.Context(), n.UUID, nil))
			n = s.settle(n)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			_, err = loadScript(t, files)
			require.Error(t, err, "the machine boots its disk, also if it asks the network first")
			published, err = config.Images.Published(n.UUID)
			require.NoError(t, err)
			require.Empty(t, published)
		})
	}
}

func TestANodeWithTheDeployInterfaceRamdiskUsesAnAgentIfItHasOne(t *testing.T) {
	config, _, files := serveImages(t)
	kernel, both := map[string]any{"deploy_kernel": files + "k"}, map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r"}
	iso := map[string]any{"deploy_iso": files + "iso"}
	for _, test := range []struct {
		boot  string
		info  map[string]any
		state states.State
		want  bool
	}{
		{"ipxe", both, states.Cleaning, true},
		{"ipxe", both, states.ServiceWait, true},
		{"ipxe", both, states.Deploying, false},
		{"ipxe", kernel, states.Cleaning, false},
		{"ipxe", nil, states.Cleaning, false},
		{"pxe", both, states.Cleaning, false},
		{"redfish-virtual-media", iso, states.Cleaning, true},
		{"redfish-virtual-media", iso, states.Deploying, false},
		{"redfish-virtual-media", nil, states.Cleaning, false},
	} {
		n := with("redfish", test.info)
		n.ProvisionState, n.Interfaces = test.state, map[string]string{"boot": test.boot, "deploy": "ramdisk"}
		require.Equal(t, test.want, newRedfish(t, config).UsesAgent(n, test.state.Work()), "%v", test)
		n.Interfaces["deploy"] = "direct"
		require.True(t, newRedfish(t, config).UsesAgent(n, test.state.Work()))
	}
	require.False(t, newRedfish(t, config).UsesAgent(nil, states.WorkClean))
}

func TestAnInstanceOfRamdiskBootsFromTheServedScriptUntilItIsDeleted(t *testing.T) {
	config, _, files := serveImages(t)
	s := start(t, config)
	n := s.scripted(machines["redfish"](t), withScript(states.Available, "ramdisk", nil, map[string]any{
		"kernel": files + "k", "ramdisk": files + "r", "ramdisk_kernel_arguments": "init=/bin/sh",
	}))
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	parameters, err := loadScript(t, files)
	require.NoError(t, err)
	require.Equal(t, "root=/dev/ram0 text init=/bin/sh", parameters)

	n = s.request(n, "deleted")
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	_, err = loadScript(t, files)
	require.Error(t, err)
}

func TestAnInstanceOfRamdiskWhoseFilesCannotBeLoadedIsNotDeployed(t *testing.T) {
	config, _, files := serveImages(t)
	s := start(t, config)
	n := s.scripted(machines["redfish"](t), withScript(states.Available, "ramdisk", nil, map[string]any{
		"kernel": strings.TrimSuffix(files, "files/") + "images/none", "ramdisk": files + "r",
	}))
	n = s.request(n, "active")
	require.Equal(t, states.DeployFail, n.ProvisionState, n.LastError)
}

func TestAScriptBootsTheISOImageOfAnInstance(t *testing.T) {
	config, _, files := serveImages(t)
	s := start(t, config)
	n := s.scripted(machines["redfish"](t), withScript(states.Available, "ramdisk", nil, map[string]any{"boot_iso": image}))
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	answer, err := newClient().Get(strings.TrimSuffix(files, "files/") + "images/52-54-00-00-00-02.ipxe")
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	script, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "#!ipxe\n\nsanboot "+image+"\n", string(script))
}

func TestWhatAScriptCannotExpressIsRefused(t *testing.T) {
	config, _, files := serveImages(t)
	withoutAPI := config
	withoutAPI.APIURL = ""
	for name, c := range map[string]struct {
		config     hardware.Config
		deploy     string
		driverInfo map[string]any
		instance   map[string]any
		want       string
	}{
		"a quote": {config, "custom-agent",
			map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "kernel_append_params": `a="b c"`}, nil,
			"has kernel_append_params in driver_info, which the boot interface ipxe of driver redfish cannot realise"},
		"a setting of iPXE": {config, "custom-agent",
			map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "kernel_append_params": "a=${password}"}, nil,
			"an iPXE script cannot express"},
		"the end of a command": {config, "custom-agent",
			map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r", "kernel_append_params": "a || shell"}, nil,
			"an iPXE script cannot express"},
		"no ramdisk": {config, "custom-agent", map[string]any{"deploy_kernel": files + "k"}, nil,
			"Cannot validate PXE bootloader. Some parameters were missing in node's driver_info and configuration. " +
				"Missing are: ['deploy_kernel', 'deploy_ramdisk']"},
		"no address of the API": {withoutAPI, "custom-agent", map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r"}, nil,
			"the URL at which agents reach the API is not configured"},
		"a file elsewhere": {config, "custom-agent", map[string]any{"deploy_kernel": "file:///etc/hostname", "deploy_ramdisk": files + "r"}, nil,
			"has deploy_kernel in driver_info, which the boot interface ipxe of driver redfish cannot realise"},
		"an instance without a ramdisk": {config, "ramdisk", nil, map[string]any{"kernel": files + "k"},
			"one or more parameters are missing from its instance_info. Missing are: ['ramdisk']"},
		"an ISO image with a space": {config, "ramdisk", nil, map[string]any{"boot_iso": image + " || shell"},
			"has boot_iso in instance_info, which the boot interface ipxe of driver redfish cannot realise"},
		"a new line": {config, "ramdisk", nil,
			map[string]any{"kernel": files + "k", "ramdisk": files + "r", "ramdisk_kernel_arguments": "a\nshell"},
			"which a boot loader's configuration cannot express"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.config)
			n := s.scripted(machines["redfish"](t), withScript(states.Available, c.deploy, c.driverInfo, c.instance))
			err := s.Provision(t.Context(), n.UUID, s.word("active"))
			require.ErrorIs(t, err, conductor.Invalid)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestABootByAScriptNeedsAPort(t *testing.T) {
	config, _, files := serveImages(t)
	s := start(t, config)
	kernel := map[string]any{"deploy_kernel": files + "k", "deploy_ramdisk": files + "r"}
	for deploy, instance := range map[string]map[string]any{
		"custom-agent": nil,
		"ramdisk":      {"boot_iso": image},
		"direct":       nil, // it lacks its image, too
	} {
		n := s.node(machines["redfish"](t), withScript(states.Available, deploy, kernel, instance))
		text := "Node " + n.UUID + " does not have any port associated with it"
		require.EqualError(t, s.Provision(t.Context(), n.UUID, s.word("active")),
			"Failed to validate deploy or power info for node "+n.UUID+": "+text)
		problems, err := s.Validate(t.Context(), n.UUID)
		require.NoError(t, err)
		require.EqualError(t, problems["boot"], text)
		require.EqualError(t, problems["deploy"], text)
		require.NoError(t, problems["power"])
	}

	for _, n := range []*conductor.Node{ // with files of the network
		s.node(machines["redfish"](t), withScript(states.Available, "custom-agent", nil, nil)),
		s.node(machines["redfish"](t), withScript(states.Available, "ramdisk", kernel, nil)),
	} {
		require.NoError(t, s.Provision(t.Context(), n.UUID, s.word("active")))
	}
	require.Nil(t, (&hardware.Type{}).NeedsPort(&conductor.Node{}))

	cleaned := func(n *conductor.Node) { n.AutomatedClean = nil }
	n := s.request(s.node(machines["redfish"](t), withScript(states.Manageable, "custom-agent", kernel, nil), cleaned), "provide")
	require.Equal(t, states.CleanFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Node "+n.UUID+" does not have any port associated with it")
}
