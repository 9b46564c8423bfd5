// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"net/http"
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// service sets the BIOS setting BootTimeout of a host that is provisioned, and returns the error message. After a
// failure it starts again.
func (s *site) service(failed bool) string {
	s.Helper()
	actual, _, err := s.provisioner().GetFirmwareSettings(s.Context(), false)
	require.NoError(s, err)
	unprepared := true
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, started, err := p.Service(s.Context(), provisioner.ServicingData{
			ActualFirmwareSettings: actual, TargetFirmwareSettings: metal3api.DesiredSettingsMap{"BootTimeout": intstr.FromInt32(7)},
			HasFirmwareSpec: true,
		}, unprepared, failed)
		unprepared, failed = unprepared && !started, failed && !started
		return result, err
	})
}

// provisioned provisions the host.
func (s *site) provisioned() {
	s.Helper()
	s.prepared()
	require.Empty(s, s.liveISO("http://images.invalid/live.iso"))
	s.requireState(states.Active)
}

// failServicing makes a servicing fail.
func (s *site) failServicing() {
	s.Helper()
	s.bmc.AddFault(bmctest.Fault{On: "/redfish/v1/Systems/1/Bios/Settings", Method: "PATCH", Do: bmctest.Status(500)})
	require.NotEmpty(s, s.service(false))
	s.requireState(states.ServiceFail)
	require.NoError(s, s.bmc.ClearFaults())
}

func TestProvisionedHostIsServiced(t *testing.T) {
	s := start(t)
	s.provisioned()
	require.Empty(t, s.service(false))
	s.requireState(states.Active)
	require.Equal(t, 7, s.bmc.BIOS("1")["BootTimeout"])
	s.requireRunning("http://images.invalid/live.iso")
	s.deprovision()
}

func TestFailedServicingStartsAgain(t *testing.T) {
	s := start(t)
	s.provisioned()
	s.failServicing()
	require.Equal(t, true, s.node()["maintenance"])
	require.NotEmpty(t, s.service(false), "the operator keeps the error until the host is changed")
	require.Empty(t, s.service(true))
	s.requireState(states.Active)
	require.Equal(t, false, s.node()["maintenance"])
	require.Equal(t, 7, s.bmc.BIOS("1")["BootTimeout"])
	s.deprovision()
}

// A host whose settings are removed after a failed servicing returns to active by an abort. Ironic refuses that while
// the node is in maintenance, which the failure has set and the operator does not end: somebody else has to.
func TestFailedServicingIsAborted(t *testing.T) {
	s := start(t)
	s.provisioned()
	s.failServicing()
	abort := func() (provisioner.Result, bool) {
		result, started, err := s.provisioner().Service(t.Context(), provisioner.ServicingData{}, false, false)
		require.NoError(t, err)
		return result, started
	}
	result, started := abort()
	require.True(t, result.Dirty)
	require.False(t, started)
	s.requireState(states.ServiceFail)
	status, _ := s.request(http.MethodDelete, "/v1/nodes/"+s.nodeName()+"/maintenance", nil)
	require.Equal(t, http.StatusAccepted, status)
	_, started = abort()
	require.True(t, started)
	require.Empty(t, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, _, err := p.Service(t.Context(), provisioner.ServicingData{}, false, false)
		return result, err
	}))
	s.requireState(states.Active)
	s.deprovision()
}

// The operator has no way to deprovision a host in service failed.
func TestHostWithAFailedServicingIsNotDeprovisioned(t *testing.T) {
	s := start(t)
	s.provisioned()
	s.failServicing()
	_, err := s.provisioner().Deprovision(t.Context(), false, s.cleaning)
	require.EqualError(t, err, "unhandled ironic state service failed")
	require.Empty(t, s.delete(), "it is forgotten")
	require.Nil(t, s.node())
}
