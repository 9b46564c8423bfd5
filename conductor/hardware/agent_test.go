// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/states"
)

func TestAMachineIsCleanedAndInstalledByItsAgent(t *testing.T) {
	l := startLab(t, states.Manageable, "direct")
	disk, err := os.OpenFile(l.machine.Disk, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = disk.WriteAt(bytes.Repeat([]byte("secret"), 1<<20), 0)
	require.NoError(t, errors.Join(err, disk.Close()))
	l.ask(conductor.ProvisionRequest{Target: "provide"})
	n := l.until(states.Available, states.CleanFail)
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	require.NotContains(t, string(l.disk()), "secret", "the disk is erased")
	require.Equal(t, []string{
		"clean.get_clean_steps",
		"clean.execute_clean_step erase_devices_metadata",
		"clean.execute_clean_step erase_devices",
	}, l.commands())
	require.Equal(t, "Off", l.bmc.Power("1"))
	require.Empty(t, n.Agent.Token)

	l.ask(conductor.ProvisionRequest{Target: "active", ConfigDrive: map[string]any{
		"meta_data": map[string]any{"hostname": "web-1"}, "user_data": "#cloud-config\n", "network_data": map[string]any{"links": []any{}},
	}})
	n = l.until(states.Active, states.DeployFail)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Equal(t, l.image[512:], l.disk()[512:len(l.image)], "the image is on the disk")
	drive, err := l.machine.ConfigDrive()
	require.NoError(t, err)
	files := readISO(t, drive)
	require.JSONEq(t, `{"uuid": "`+n.UUID+`", "hostname": "web-1"}`, files["openstack/latest/meta_data.json"])
	require.Equal(t, "#cloud-config\n", files["openstack/latest/user_data"])
	require.JSONEq(t, `{"links": []}`, files["openstack/2012-08-10/network_data.json"])
	require.Len(t, files, 6)
	require.Equal(t, "Hdd Continuous UEFI", l.bmc.Boot("1"))
	require.Equal(t, "On", l.bmc.Power("1"))
	l.requireRuns("disk")
	require.Empty(t, n.Agent.Token)
}

func TestAnImageWithAnotherHashIsNotDeployed(t *testing.T) {
	l := startLab(t, states.Available, "direct")
	l.image[4096]++
	l.ask(conductor.ProvisionRequest{Target: "active"})
	n := l.until(states.Active, states.DeployFail)
	require.Equal(t, states.DeployFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Deploy step deploy.write_image failed on node "+n.UUID+". ")
	require.Empty(t, n.Agent.Token)
}

func TestADeploymentByACustomAgentExecutesItsStep(t *testing.T) {
	ran := make(chan map[string]any, 1)
	l := startLab(t, states.Available, "custom-agent", func(c *agenttest.Config) {
		run := func(_ context.Context, args map[string]any) (any, error) {
			ran <- args
			return "done", nil
		}
		c.Steps = []agenttest.Step{{Work: "deploy", Interface: "deploy", Name: "install_coreos", Run: run}}
	})
	priority := 80
	l.ask(conductor.ProvisionRequest{
		Target:      "active",
		DeploySteps: []conductor.StepRequest{{Interface: "deploy", Step: "install_coreos", Args: map[string]any{}, Priority: &priority}},
	})
	n := l.until(states.Active, states.DeployFail)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	require.Len(t, ran, 1)
	require.Equal(t, []string{"deploy.get_deploy_steps", "deploy.execute_deploy_step install_coreos", "standby.power_off"}, l.commands())
	l.requireRuns("disk")
}

func TestADeploymentAppliesBIOSSettingsBeforeAndAfterTheAgentBoots(t *testing.T) {
	for name, c := range map[string]struct{ priority, boots int }{
		"before the agent boots":      {150, 3},
		"before the image is written": {90, 3},
		"after the image was written": {35, 3},
		"when they are there already": {85, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := startLab(t, states.Available, "direct")
			value := 30
			if c.boots == 2 {
				value = l.bmc.BIOS("1")["BootTimeout"].(int)
			}
			l.ask(conductor.ProvisionRequest{Target: "active", DeploySteps: []conductor.StepRequest{{
				Interface: "bios", Step: "apply_configuration", Priority: &c.priority,
				Args: map[string]any{"settings": []any{map[string]any{"name": "BootTimeout", "value": value}}},
			}}})
			n := l.until(states.Active, states.DeployFail)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			require.Equal(t, value, l.bmc.BIOS("1")["BootTimeout"])
			require.True(t, slices.ContainsFunc(n.BIOSSettings, func(s conductor.BIOSSetting) bool {
				return s.Name == "BootTimeout" && s.Value == fmt.Sprint(value)
			}), "the record has it")
			require.Equal(t, c.boots, l.machine.Boots(), "of the agent and of the instance")
			l.requireRuns("disk")
			require.Equal(t, l.image[512:], l.disk()[512:len(l.image)])
		})
	}
}

func TestAManualCleaningRebootsTheMachineBetweenTwoSteps(t *testing.T) {
	run := func(context.Context, map[string]any) (any, error) { return nil, nil }
	l := startLab(t, states.Manageable, "direct", func(c *agenttest.Config) {
		c.Steps = []agenttest.Step{{Work: "clean", Interface: "deploy", Name: "update_firmware", Reboot: true, Run: run}}
	})
	l.ask(conductor.ProvisionRequest{
		Target: "clean",
		CleanSteps: []conductor.StepRequest{
			{Interface: "deploy", Step: "update_firmware"},
			{Interface: "deploy", Step: "erase_devices_metadata"},
		},
	})
	n := l.until(states.Manageable, states.CleanFail)
	require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
	require.Equal(t, []string{
		"clean.get_clean_steps",
		"clean.execute_clean_step update_firmware",
		"clean.execute_clean_step erase_devices_metadata",
	}, l.commands())
	require.Equal(t, 2, l.machine.Boots())
}

func TestANodeWithTheDeployInterfaceRamdiskIsCleanedByAnAgentFromVirtualMedia(t *testing.T) {
	l := startLab(t, states.Manageable, "ramdisk")
	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.Interfaces["boot"], n.DriverInfo["deploy_iso"], n.InstanceInfo = "redfish-virtual-media", image, nil
		return nil
	})
	require.NoError(t, err)
	l.ask(conductor.ProvisionRequest{Target: "provide"})
	n := l.until(states.Available, states.CleanFail)
	require.Equal(t, states.Available, n.ProvisionState, n.LastError)
	require.Equal(t, []string{
		"clean.get_clean_steps",
		"clean.execute_clean_step erase_devices_metadata",
		"clean.execute_clean_step erase_devices",
	}, l.commands())
	require.Equal(t, 1, l.machine.Boots())
	require.Empty(t, l.bmc.Media("CD"), "it is ejected")
	require.Equal(t, "Off", l.bmc.Power("1"))
}

func TestARescueGivesTheAgentTheHashOfThePassword(t *testing.T) {
	l := startLab(t, states.Active, "direct")
	require.NoError(t, l.bmc.SetPower("1", "On"))
	l.ask(conductor.ProvisionRequest{Target: "rescue", RescuePassword: "hunter2"})
	n := l.until(states.Rescue, states.RescueFail)
	require.Equal(t, states.Rescue, n.ProvisionState, n.LastError)
	require.Equal(t, []string{"rescue.finalize_rescue"}, l.commands())
	require.Regexp(t, `^\$2[aby]\$`, l.machine.RescuePassword(), "the hash by bcrypt")
	require.NotContains(t, n.InstanceInfo, "rescue_password")
	require.NotContains(t, n.InstanceInfo, "hashed_rescue_password")
	l.requireRuns("rescue")
	require.Empty(t, n.Agent.Token)

	l.ask(conductor.ProvisionRequest{Target: "unrescue"})
	n = l.until(states.Active, states.UnrescueFail)
	require.Equal(t, states.Active, n.ProvisionState, n.LastError)
	l.requireRuns("disk")
	require.Equal(t, "Hdd Continuous UEFI", l.bmc.Boot("1"))
}

func TestTheCDOfARescueIsEjectedOnceTheAgentHasThePasswordAndTheMachineStaysOn(t *testing.T) {
	l := startLab(t, states.Active, "direct")
	_, err := l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error {
		n.Interfaces["boot"], n.DriverInfo["deploy_iso"], n.Maintenance = "redfish-virtual-media", image, true // permits the change
		return nil
	})
	require.NoError(t, err)
	_, err = l.UpdateNode(t.Context(), l.n.UUID, func(n *conductor.Node) error { n.Maintenance = false; return nil })
	require.NoError(t, err)
	l.ask(conductor.ProvisionRequest{Target: "rescue", RescuePassword: "hunter2"})
	n := l.until(states.Rescue, states.RescueFail)
	require.Equal(t, states.Rescue, n.ProvisionState, n.LastError)
	require.Equal(t, 1, l.machine.Boots(), "from the CD")
	require.Empty(t, l.bmc.Media("CD"))
	require.Equal(t, "On", l.bmc.Power("1"))
}

func TestARescueThatTheAgentRefusesFailsAndEndsOff(t *testing.T) {
	l := startLab(t, states.Active, "direct", func(c *agenttest.Config) {
		c.Faults = []agenttest.Fault{{On: "finalize_rescue", Do: agenttest.Fail("no shadow file")}}
	})
	l.ask(conductor.ProvisionRequest{Target: "rescue", RescuePassword: "hunter2"})
	n := l.until(states.Rescue, states.RescueFail)
	require.Equal(t, states.RescueFail, n.ProvisionState)
	require.Contains(t, n.LastError, "Node failed to perform rescue operation: Failed to rescue instance  for node "+n.UUID+": ")
	require.NotContains(t, n.LastError, "hunter2")
	require.NotContains(t, n.InstanceInfo, "rescue_password")
	require.Equal(t, "Off", l.bmc.Power("1"))
}

func TestAFailingAgentFailsTheWork(t *testing.T) {
	for _, test := range []struct {
		fault agenttest.Fault
		want  states.State
		text  string
	}{
		{agenttest.Fault{On: "erase_devices", Do: agenttest.Fail("the disk is on fire")}, states.CleanFail,
			"Clean step deploy.erase_devices failed on node %s. "},
		{agenttest.Fault{On: "get_clean_steps", Do: agenttest.Garbage()}, states.CleanFail,
			"Node failed to start the first cleaning step: The answer of the agent on node %s, with HTTP status code 200, cannot be decoded"},
		{agenttest.Fault{On: "commands", Do: agenttest.Huge(20 << 20)}, states.CleanFail,
			"Node failed to check cleaning progress: The agent on node %s answers with more than 16777216 bytes."},
		{agenttest.Fault{On: "erase_devices", Times: 1, Do: agenttest.VersionMismatch()}, states.Available, ""},
		{agenttest.Fault{On: "get_clean_steps", Times: 2, Do: agenttest.Busy()}, states.Available, ""},
		{agenttest.Fault{On: "erase_devices", Times: 2, Do: agenttest.Busy()}, states.Available, ""},
	} {
		t.Run(fmt.Sprint(test.fault.On, " ", test.fault.Do), func(t *testing.T) {
			l := startLab(t, states.Manageable, "direct", func(c *agenttest.Config) { c.Faults = []agenttest.Fault{test.fault} })
			l.ask(conductor.ProvisionRequest{Target: "provide"})
			n := l.until(states.Available, states.CleanFail)
			require.Equal(t, test.want, n.ProvisionState, n.LastError)
			if test.text != "" {
				require.Contains(t, n.LastError, fmt.Sprintf(test.text, n.UUID))
			}
			require.Empty(t, n.Agent.Token)
		})
	}
}
