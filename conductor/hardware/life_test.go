// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestALifeOverRealProtocols(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			s := start(t, hardware.Config{})
			n := s.request(s.node(m), "manage")
			require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOff, n.Power)

			s.setPower(n, states.PowerOn)
			require.Equal(t, "on", m.power())

			require.NoError(t, s.SetBootDevice(t.Context(), n.UUID, "pxe", false))
			device, persistent, err := s.BootDevice(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", device)
			require.False(t, persistent)

			n = s.request(n, "provide")
			require.Equal(t, states.Available, n.ProvisionState, n.LastError)
			n = s.request(n, "active")
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOn, n.Power)
			require.Equal(t, "on", m.power())
			device, _, err = s.BootDevice(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", device)

			require.ErrorIs(t, s.Provision(t.Context(), n.UUID, s.word("rescue")), conductor.Unsupported)
			n = s.request(n, "deleted")
			require.Equal(t, states.Available, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOff, n.Power)
			require.Equal(t, "off", m.power())
		})
	}
}

func TestAConductorKeepsOneSessionAndClosesIt(t *testing.T) {
	server := startRedfish(t)
	t.Run("a life", func(t *testing.T) {
		s := start(t, hardware.Config{})
		n := s.request(s.node(redfishMachine(server, t)), "manage")
		for _, target := range []string{"provide", "active", "rebuild", "deleted"} {
			n = s.request(n, target)
			require.Empty(t, n.LastError)
		}
		require.Equal(t, bmctest.Logins{Attempts: 1, Succeeded: 1}, server.Logins(), "the verification's")
		require.Len(t, server.Sessions(), 1)
	})
	require.Empty(t, server.Sessions(), "after Close")
}

func TestAWrongPasswordCostsOneLoginAndEndsInEnroll(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.info[name+"_password"] = wrong
			s := start(t, hardware.Config{})
			n := s.request(s.node(m), "manage")
			require.Equal(t, states.Enroll, n.ProvisionState)
			require.Contains(t, n.LastError, "power interface")
			require.Contains(t, n.LastError, "credentials")
			require.NotContains(t, n.LastError, "horse")
			require.Equal(t, 1, m.logins().Attempts)
			require.Equal(t, "off", m.power())
			s.requireHistory(n)
		})
	}
}

func TestAnUnreachableBMCEndsInEnroll(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			m.down()
			s := start(t, hardware.Config{})
			n := s.request(s.node(m), "manage")
			require.Equal(t, states.Enroll, n.ProvisionState)
			require.Regexp(t, "unreachable|no answer in time", n.LastError)
			require.Zero(t, m.logins().Attempts)
			s.requireHistory(n)
		})
	}
}

func TestAutomatedCleaningFailsSinceNothingWouldBeErased(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			s := start(t, hardware.Config{})
			n := s.request(s.node(machine(t), func(n *conductor.Node) { n.AutomatedClean = nil }), "manage")
			n = s.request(n, "provide")
			require.Equal(t, states.CleanFail, n.ProvisionState)
			require.Equal(t, "Cannot clean node "+n.UUID+": driver "+name+" has no automated clean steps, so nothing would be erased. "+
				"For nodes that need no cleaning, set automated_clean to false on the node, or switch automated cleaning off for the whole conductor.",
				n.LastError)
			s.requireHistory(n)

			n = s.request(n, "manage")
			n, err := s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error { n.AutomatedClean = new(bool); return nil })
			require.NoError(t, err)
			n = s.request(n, "provide")
			require.Equal(t, states.Available, n.ProvisionState, n.LastError)
		})
	}
}

func TestAStepThatNoInterfaceHasFailsTheWork(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	priority := 80
	for _, test := range []struct {
		from, to states.State
		request  conductor.ProvisionRequest
		text     string
	}{
		{states.Available, states.DeployFail,
			conductor.ProvisionRequest{
				Target:      "active",
				DeploySteps: []conductor.StepRequest{{Interface: "deploy", Step: "install_coreos", Priority: &priority}},
			},
			"node does not support this deploy step: {'interface': 'deploy', 'step': 'install_coreos', 'priority': 80}"},
		{states.Manageable, states.CleanFail,
			conductor.ProvisionRequest{Target: "clean", CleanSteps: []conductor.StepRequest{{Interface: "deploy", Step: "erase_devices"}}},
			"node does not support this clean step: {'interface': 'deploy', 'step': 'erase_devices'}"},
		{states.Active, states.ServiceFail,
			conductor.ProvisionRequest{Target: "service", ServiceSteps: []conductor.StepRequest{{Interface: "firmware", Step: "update"}}},
			"node does not support this service step: {'interface': 'firmware', 'step': 'update'}"},
	} {
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
			n.ProvisionState = test.from
		})
		test.request.Version = s.word("").Version
		require.NoError(t, s.Provision(t.Context(), n.UUID, test.request))
		n = s.settle(n)
		require.Equal(t, test.to, n.ProvisionState)
		require.Contains(t, n.LastError, test.text)
		s.requireHistory(n)
	}
	for _, r := range server.Requests() {
		require.True(t, r.Method == http.MethodGet || strings.HasSuffix(r.Path, "/Sessions"), "%v changes the machine", r)
	}
}

func TestADeploymentThatWouldIgnoreItsInstanceIsRefused(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Available })
	request := s.word("active")
	request.ConfigDrive = map[string]any{"user_data": "x"}
	err := s.Provision(t.Context(), n.UUID, request)
	require.ErrorIs(t, err, conductor.Unsuitable)
	require.ErrorContains(t, err, "it writes no configuration drive")

	n, err = s.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error {
		require.Empty(t, n.InstanceInfo, "a refused request changes nothing")
		n.InstanceInfo = map[string]any{"boot_iso": "http://images.example/live.iso"}
		return nil
	})
	require.NoError(t, err)
	err = s.Provision(t.Context(), n.UUID, s.word("active"))
	require.ErrorIs(t, err, conductor.Unsuitable)
	require.ErrorContains(t, err,
		"Node "+n.UUID+" has boot_iso in instance_info, which the deploy interface ramdisk of driver redfish cannot realise: "+
			"the boot interface ipxe serves no files: the network decides what the machine boots.")
	require.Empty(t, server.Requests())
}

func TestADeploymentBootsFromTheNetworkPersistently(t *testing.T) {
	for value, want := range map[any]string{
		nil:       "Pxe Continuous UEFI",
		"Default": "Pxe Continuous UEFI",
		"Never":   "None Disabled UEFI", // the override for one boot has been used
	} {
		server := startRedfish(t)
		s := start(t, hardware.Config{})
		m := redfishMachine(server, t)
		if value != nil {
			m.info["force_persistent_boot_device"] = value
		}
		n := s.node(m, func(n *conductor.Node) { n.ProvisionState = states.Available })
		n = s.request(n, "active")
		require.Equal(t, states.Active, n.ProvisionState, n.LastError)
		require.Equal(t, want, server.Boot("1"), "%v", value)
		require.Equal(t, 1, patchesOf(server))
	}
}

func TestADeploymentSetsTheBootModeOfTheInstance(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
		n.ProvisionState, n.InstanceInfo = states.Available, map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}}
	})
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, "Pxe Continuous Legacy", server.Boot("1"))
}

func TestAnAgentsBootDeviceIsForOneBootUnlessForced(t *testing.T) {
	for value, want := range map[any]string{nil: "None", "Always": "Pxe", true: "Pxe", "true": "Pxe", false: "None", "Never": "None"} {
		server := startRedfish(t)
		s := start(t, hardware.Config{})
		m := redfishMachine(server, t)
		m.info["force_persistent_boot_device"] = value
		n := s.node(m, func(n *conductor.Node) {
			n.ProvisionState = states.Available
			n.Interfaces = map[string]string{"deploy": "custom-agent"}
		})
		n = s.request(n, "active")
		require.Equal(t, states.DeployWait, n.ProvisionState, n.LastError)
		require.Equal(t, want, strings.Fields(server.Boot("1"))[0], "%v", value)
	}
}

func TestANodeThatMustNotBePoweredOffIsRebooted(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Systems = []bmctest.System{{ID: "1", Power: "On"}} })
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) {
		n.ProvisionState, n.DisablePowerOff = states.Available, true
	})
	// The machine always reports power on; a deployment that waits for power off would fail.
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Method: "GET", Do: bmctest.Property("PowerState", "On")})
	n = s.request(n, "active")
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, 1, patchesOf(server))
	n = s.request(n, "deleted")
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	require.Equal(t, "On", server.Power("1"))
}

func TestAMachineThatDoesNotGoOffFailsItsWork(t *testing.T) {
	stuck := func(t *testing.T) (*bmctest.Redfish, *site) {
		server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Systems = []bmctest.System{{ID: "1", Power: "On"}} })
		server.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1", Method: "GET", Do: bmctest.Property("PowerState", "On")})
		return server, start(t, hardware.Config{}, func(c *conductor.Config) { c.Power.Timeout = 300 * time.Millisecond })
	}
	const text = `power state not reached: "power off" within 300ms: it is in "power on"`
	t.Run("a deployment", func(t *testing.T) {
		server, s := stuck(t)
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Available }), "active")
		require.Equal(t, states.DeployFail, n.ProvisionState)
		require.Equal(t, "Deploy step deploy.deploy failed: "+text+".", n.LastError)
		require.Zero(t, patchesOf(server))
		s.requireHistory(n)
	})
	t.Run("a tear-down", func(t *testing.T) {
		server, s := stuck(t)
		n := s.request(s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Active }), "deleted")
		require.Equal(t, states.Error, n.ProvisionState)
		require.Equal(t, "step deploy.tear_down failed: "+text, n.LastError)
	})
	t.Run("a built-in step", func(t *testing.T) {
		server, s := stuck(t)
		n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
		request := s.word("clean")
		request.CleanSteps = []conductor.StepRequest{{Interface: "power", Step: "power_off"}}
		require.NoError(t, s.Provision(t.Context(), n.UUID, request))
		n = s.settle(n)
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.Contains(t, n.LastError, text)
		require.NotEqual(t, states.PowerOff, n.Power, "the record does not say what the machine did not do")
	})
}

func TestAnAdoptionReadsThePowerState(t *testing.T) {
	for name, machine := range machines {
		t.Run(name, func(t *testing.T) {
			m := machine(t)
			s := start(t, hardware.Config{})
			n := s.request(s.node(m, func(n *conductor.Node) { n.ProvisionState = states.Manageable }), "adopt")
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, states.PowerOff, n.Power)
		})
	}
}

func TestManualCleaningHasTheStepsOfPower(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(n *conductor.Node) { n.ProvisionState = states.Manageable })
	request := s.word("clean")
	request.CleanSteps = []conductor.StepRequest{{Interface: "power", Step: "power_on"}}
	require.NoError(t, s.Provision(t.Context(), n.UUID, request))
	n = s.settle(n)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, "On", server.Power("1"))
}
