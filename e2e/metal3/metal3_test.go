// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestHostIsRegistered(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	s.requireState(states.Manageable)
	n := s.node()
	require.Equal(t, s.host.ProvisionerID, n["uuid"])
	require.Equal(t, agentISO, n["driver_info"].(map[string]any)["deploy_iso"])
	require.Equal(t, "redfish-virtual-media", n["boot_interface"])
	require.Empty(t, s.register(false), "a second reconciliation changes nothing")
	require.Equal(t, []string{"Registered"}, s.events)
}

func TestWrongPasswordFailsTheRegistrationUntilItIsCorrected(t *testing.T) {
	s := start(t)
	s.host.BMCCredentials.Password = "wrong"
	require.Contains(t, s.register(false), "credentials refused")
	s.requireState(states.Enroll)
	s.host.BMCCredentials.Password = bmctest.DefaultPassword
	require.Empty(t, s.register(true))
	s.requireState(states.Manageable)
}

func TestUnreachableBMCFailsTheRegistration(t *testing.T) {
	s := start(t)
	s.bmc.AddFault(bmctest.Fault{Do: bmctest.Refuse()})
	require.Contains(t, s.register(false), "connection refused")
	s.requireState(states.Enroll)
}

func TestAgentInspectsTheHost(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	details, message := s.inspect(false)
	require.Empty(t, message)
	s.requireState(states.Manageable)
	require.Equal(t, 1, s.machine.Boots())
	require.Empty(t, s.machine.Running(), "the machine is off")
	require.Empty(t, s.bmc.Media("CD"))
	require.Equal(t, s.mac, details.NIC[0].MAC)
	require.Equal(t, "/dev/sda", details.Storage[0].Name)
	require.Equal(t, 8<<10, details.RAMMebibytes)
	require.Equal(t, 4, details.CPU.Count)
	require.Equal(t, "x86_64", s.node()["properties"].(map[string]any)["cpu_arch"])
	require.Equal(t, []string{"Registered", "InspectionStarted", "InspectionComplete"}, s.events)
}

func TestFailureOfTheAgentFailsTheInspection(t *testing.T) {
	s := start(t)
	s.failure = "no disk found"
	require.Empty(t, s.register(false))
	_, message := s.inspect(false)
	require.Contains(t, message, "Ramdisk reported error: no disk found")
	s.requireState(states.InspectFail)
}

func TestPower(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	require.Empty(t, s.powerOn(false))
	require.Equal(t, "On", s.bmc.Power("1"))
	state, err := s.provisioner().UpdateHardwareState(t.Context())
	require.NoError(t, err)
	require.True(t, *state.PoweredOn)
	require.Empty(t, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		return p.PowerOff(t.Context(), metal3api.RebootModeSoft, false, s.cleaning)
	}))
	require.Equal(t, "Off", s.bmc.Power("1"))
}

func TestFirmwareSettings(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	settings, schema, err := s.provisioner().GetFirmwareSettings(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, settings, len(s.bmc.BIOS("1")))
	require.NotEmpty(t, schema)
}

func TestEventSubscription(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	subscription := metal3api.BMCEventSubscription{Spec: metal3api.BMCEventSubscriptionSpec{Destination: "https://events.invalid/x",
		Context: "rack 1"}}
	result, err := s.provisioner().AddBMCEventSubscriptionForNode(t.Context(), &subscription,
		provisioner.HTTPHeaders{{"Authorization": "Bearer 0123456789"}})
	require.NoError(t, err)
	require.False(t, result.Dirty)
	require.Equal(t, "1", subscription.Status.SubscriptionID)
	require.Equal(t, []map[string]any{{
		"Destination": "https://events.invalid/x", "Protocol": "Redfish", "Context": "rack 1", "EventTypes": []string{"Alert"},
		"HttpHeaders": []any{map[string]any{"Authorization": "Bearer 0123456789"}},
	}}, s.bmc.Subscriptions())
	_, err = s.provisioner().RemoveBMCEventSubscriptionForNode(t.Context(), subscription)
	require.NoError(t, err)
	require.Empty(t, s.bmc.Subscriptions())
	_, err = s.provisioner().RemoveBMCEventSubscriptionForNode(t.Context(), subscription)
	require.Error(t, err)
}

func TestAdoptedHostIsDeletedWithoutChange(t *testing.T) {
	s := start(t)
	require.NoError(t, s.bmc.SetPower("1", "On"))
	require.Empty(t, s.register(false))
	require.Empty(t, s.adopt(false))
	s.requireState(states.Active)
	require.Empty(t, s.delete())
	require.Nil(t, s.node())
	require.Equal(t, "On", s.bmc.Power("1"))
}

func TestHostIsDeleted(t *testing.T) {
	s := start(t)
	require.Empty(t, s.register(false))
	require.Empty(t, s.delete())
	require.Nil(t, s.node())
}
