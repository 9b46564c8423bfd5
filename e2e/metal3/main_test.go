// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner/ironic"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	mac      = "52:54:00:12:34:56"
	agentISO = "http://images.invalid/agent.iso"
)

// site is a machine, a conductor that manages it, and metal3's client of that conductor.
type site struct {
	*testing.T
	bmc       *bmctest.Redfish
	machine   *agenttest.Machine
	conductor *conductor.Conductor
	host      provisioner.HostData
	factory   provisioner.Factory
	events    []string
	failure   string // the error in the agent's inspection data
}

// start starts a machine that is off and a conductor with Ironic's API.
func start(t *testing.T, steps ...agenttest.Step) *site {
	t.Helper()
	s := &site{T: t}
	var err error
	// The listener comes before the conductor, which needs its URL.
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	s.machine, err = agenttest.New(agenttest.Config{
		API: url, Steps: steps, MACs: []string{mac}, Inspection: true, BMCAddress: "127.0.0.1",
		Boots: func(_ context.Context, _, image string) (string, bool) { return "", image == agentISO },
		Collect: func(data map[string]any) {
			// Agents send the text of lscpu; the recorded agent, whose hardware was simulated, sent a number.
			data["inventory"].(map[string]any)["cpu"].(map[string]any)["frequency"] = "2000.0000"
			if s.failure != "" {
				data["error"] = s.failure
			}
		},
		PowerOff: func() { require.NoError(t, s.bmc.SetPower("1", "Off")) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.machine.Close()) })
	s.bmc, err = bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{
		ID: "1", Hardware: bmctest.Hardware{MACs: []string{mac}}, OnPower: s.machine.Power,
	}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.bmc.Close()) })

	redfish, err := hardware.NewRedfish(hardware.Config{APIURL: url, DefaultDeploy: "direct"})
	require.NoError(t, err)
	s.conductor, err = conductor.New(conductor.Config{
		Store: &conductor.Memory{}, Hardware: map[string]conductor.Hardware{"redfish": redfish},
		LockedInterval: 10 * time.Millisecond, LockedRetries: 500, SkipPowerSync: true,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.conductor.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, redfish.Close(context.Background()))
	})
	require.NoError(t, s.conductor.Ready(ctx))
	server.Config.Handler = api.New(s.conductor, api.Config{})
	server.Start()
	t.Cleanup(server.Close)

	for name, value := range map[string]string{
		"IRONIC_ENDPOINT": url + "/v1/", "METAL3_AUTH_ROOT_DIR": t.TempDir(), "DEPLOY_ISO_URL": agentISO,
		"IRONIC_CACERT_FILE": filepath.Join(t.TempDir(), "none"), "PROVISIONING_LIMIT": "",
	} {
		t.Setenv(name, value)
	}
	s.factory = ironic.NewProvisionerFactory(logr.Discard(), false)
	s.host = provisioner.HostData{
		ObjectMeta:                     metav1.ObjectMeta{Namespace: "metal3", Name: "rack1-7", UID: "8b6d7cf5-14b5-4fcb-a8a8-5e3c8be3f0a1"},
		BMCAddress:                     "redfish-virtualmedia+https://" + s.bmc.Addr + "/redfish/v1/Systems/1",
		BMCCredentials:                 bmc.Credentials{Username: bmctest.DefaultUser, Password: bmctest.DefaultPassword},
		DisableCertificateVerification: true, BootMACAddress: mac,
	}
	return s
}

// provisioner returns a new client, as the operator makes one for each reconciliation of a host.
func (s *site) provisioner() provisioner.Provisioner {
	s.Helper()
	p, err := s.factory.NewProvisioner(s.Context(), s.host, func(reason, _ string) { s.events = append(s.events, reason) })
	require.NoError(s, err)
	ready, err := p.TryInit()
	require.NoError(s, err)
	require.True(s, ready)
	return p
}

// until calls a function of the provisioner as the operator does, until it has no more to do, and returns the error
// message of the result.
func (s *site) until(call func(provisioner.Provisioner) (provisioner.Result, error)) (message string) {
	s.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		result, err := call(s.provisioner())
		require.NoError(s, err)
		if !result.Dirty || result.ErrorMessage != "" {
			return result.ErrorMessage
		}
	}
	n, _ := s.conductor.Node(s.Context(), "metal3~rack1-7")
	require.Fail(s, "the operation does not end", "%+v", n)
	return ""
}

// register registers the host and returns the error message.
func (s *site) register(changed bool) string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, id, err := p.ValidateManagementAccess(s.access(), changed, false)
		changed = false
		if id != "" {
			s.host.ProvisionerID = id
		}
		return result, err
	})
}

// access is what the operator says of a host on which it installs nothing.
func (s *site) access() provisioner.ManagementAccessData {
	return provisioner.ManagementAccessData{BootMode: metal3api.UEFI, AutomatedCleaningMode: metal3api.CleaningModeDisabled}
}

// node returns the conductor's record of the host.
func (s *site) node() *conductor.Node {
	s.Helper()
	n, err := s.conductor.Node(s.Context(), s.host.ProvisionerID)
	require.NoError(s, err)
	return n
}

func (s *site) requireState(want states.State) {
	s.Helper()
	require.Equal(s, want, s.node().ProvisionState, s.node().LastError)
}
