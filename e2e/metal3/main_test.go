// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
	"k8s.io/apimachinery/pkg/types"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const agentISO = "http://images.invalid/agent.iso"

// site is a machine, a conductor that manages it, and metal3's client of that conductor.
type site struct {
	*testing.T
	url      string // of the conductor's API
	mac      string
	bmc      *bmctest.Redfish
	machine  *agenttest.Machine
	host     provisioner.HostData
	factory  provisioner.Factory
	events   []string
	cleaning metal3api.AutomatedCleaningMode
	staysOn  bool         // the power must not be turned off
	failure  string       // the error in the agent's inspection data
	hold     func(string) // called at a point of the agent's work; may be nil
	restart  *restart     // nil if the conductor is not restarted
}

// start starts a machine that is off and a conductor with Ironic's API.
func start(t *testing.T, steps ...agenttest.Step) *site {
	t.Helper()
	return startWith(t, conductor.Config{}, steps...)
}

// startWith starts a machine and a conductor of a configuration, which is completed.
func startWith(t *testing.T, config conductor.Config, steps ...agenttest.Step) *site {
	t.Helper()
	return newSite(t, serveAPI(t, config, &front{}), 7, steps)
}

// serveAPI starts a conductor of a configuration, which is completed, and its API behind a front.
func serveAPI(t *testing.T, config conductor.Config, f *front) (url string) {
	t.Helper()
	needs.Time(t)
	// The listener comes before the conductor, which needs its URL.
	server := httptest.NewUnstartedServer(f)
	url = "http://" + server.Listener.Addr().String()
	client, err := images.NewClient("127.0.0.1")
	require.NoError(t, err)
	redfish, err := hardware.NewRedfish(hardware.Config{APIURL: url, DefaultDeploy: "direct", Client: client, Pause: time.Millisecond})
	require.NoError(t, err)
	config.Store, config.Hardware = &conductor.Memory{}, map[string]conductor.Hardware{"redfish": redfish}
	config.LockedInterval, config.LockedRetries, config.SkipPowerSync = 10*time.Millisecond, math.MaxInt, config.Power.Interval == 0
	config.AgentAddress = conductor.AgentNetworks{netip.MustParsePrefix("127.0.0.0/8")}.Check
	c, err := conductor.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.NoError(t, redfish.Close(context.Background()))
	})
	require.NoError(t, c.Ready(ctx))
	f.Handler = api.New(c, api.Config{})
	server.Start()
	t.Cleanup(server.Close)
	return url
}

// newSite starts a machine with a number, which is off, and makes a client of the conductor at a URL.
func newSite(t *testing.T, url string, number int, steps []agenttest.Step) *site {
	t.Helper()
	mac := fmt.Sprintf("52:54:00:12:34:%02x", number)
	s := &site{T: t, url: url, mac: mac, cleaning: metal3api.CleaningModeDisabled}
	var err error
	s.machine, err = agenttest.New(agenttest.Config{
		API: url, Steps: steps, MACs: []string{mac}, Inspection: true, BMCAddress: "127.0.0.1",
		Boots: func(_ context.Context, _, image string) (string, bool) { return "", image == agentISO },
		Collect: func(data map[string]any) {
			// Agents send the text of lscpu; the recorded agent, whose hardware was simulated, sent a number.
			data["inventory"].(map[string]any)["cpu"].(map[string]any)["frequency"] = "2000.0000"
			if s.failure != "" {
				data["error"] = s.failure
			}
			s.reach("inspection")
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

	s.operate(agentISO)
	s.host = provisioner.HostData{
		ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: fmt.Sprintf("rack1-%d", number),
			UID: types.UID(fmt.Sprintf("8b6d7cf5-14b5-4fcb-a8a8-5e3c8be3f0%02x", number))},
		BMCAddress:                     "redfish-virtualmedia+https://" + s.bmc.Addr + "/redfish/v1/Systems/1",
		BMCCredentials:                 bmc.Credentials{Username: bmctest.DefaultUser, Password: bmctest.DefaultPassword},
		DisableCertificateVerification: true, BootMACAddress: mac,
	}
	return s
}

// operate makes the operator's client. With it, machines boot the agent of an image.
func (s *site) operate(iso string) {
	s.Helper()
	for name, value := range map[string]string{
		"IRONIC_ENDPOINT": s.url + "/v1/", "METAL3_AUTH_ROOT_DIR": s.TempDir(), "DEPLOY_ISO_URL": iso,
		"IRONIC_CACERT_FILE": filepath.Join(s.TempDir(), "none"), "PROVISIONING_LIMIT": "",
	} {
		s.Setenv(name, value)
	}
	var err error
	s.factory, err = ironic.NewProvisionerFactory(logr.Discard(), false)
	require.NoError(s, err)
}

// reach tells the test that the agent has come to a point of its work.
func (s *site) reach(point string) {
	if s.hold != nil {
		s.hold(point)
	}
}

// provisioner returns a new client, as the operator makes one for each reconciliation of a host.
func (s *site) provisioner() provisioner.Provisioner {
	s.Helper()
	p, err := s.factory.NewProvisioner(s.Context(), s.host, func(reason, _ string) { s.events = append(s.events, reason) })
	require.NoError(s, err)
	ready, err := p.TryInit(s.Context())
	require.NoError(s, err)
	require.True(s, ready)
	return p
}

// until calls a function of the provisioner as the operator does, until it has no more to do, and returns the error
// message of the result.
func (s *site) until(call func(provisioner.Provisioner) (provisioner.Result, error)) (message string) {
	s.Helper()
	s.await(func() bool {
		if s.restart != nil {
			s.restart.ifReached(s)
		}
		result, err := call(s.provisioner())
		require.NoError(s, err)
		message = result.ErrorMessage
		return !result.Dirty || message != ""
	})
	return message
}

// await polls until a condition is true, as the operator does. The timeout of go test is the only limit.
func (s *site) await(condition func() bool) {
	s.Helper()
	for !condition() {
		require.NoError(s, s.Context().Err())
		time.Sleep(5 * time.Millisecond)
	}
}

// register registers the host and returns the error message.
func (s *site) register(changed bool) string { return s.registerAgain(changed, false) }

// registerAgain registers the host after the credentials have changed or after a failure.
func (s *site) registerAgain(changed, failed bool) string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, id, err := p.Register(s.Context(), s.access(), changed, failed)
		changed, failed = false, false
		if id != "" {
			s.host.ProvisionerID = id
		}
		return result, err
	})
}

// access is the operator's description of a host.
func (s *site) access() provisioner.ManagementAccessData {
	return provisioner.ManagementAccessData{BootMode: metal3api.UEFI, AutomatedCleaningMode: s.cleaning, DisablePowerOff: s.staysOn}
}

// inspect inspects the host and returns the error message.
func (s *site) inspect(failed bool) (details *metal3api.HardwareDetails, message string) {
	s.Helper()
	message = s.until(func(p provisioner.Provisioner) (result provisioner.Result, err error) {
		result, _, details, err = p.InspectHardware(s.Context(), provisioner.InspectData{BootMode: metal3api.UEFI}, failed, false, false)
		failed = false
		return result, err
	})
	return details, message
}

// adopt adopts the host and returns the error message.
func (s *site) adopt(failed bool) string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		result, err := p.Adopt(s.Context(), provisioner.AdoptData{State: metal3api.StateProvisioned}, failed)
		failed = false
		return result, err
	})
}

// delete deletes the host.
func (s *site) delete() string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) { return p.Delete(s.Context()) })
}

// powerOn powers the host on and returns the error message.
func (s *site) powerOn(force bool) string {
	s.Helper()
	return s.until(func(p provisioner.Provisioner) (provisioner.Result, error) { return p.PowerOn(s.Context(), force) })
}

// nodeName is the name that the operator gives to the node of a host.
func (s *site) nodeName() string { return s.host.ObjectMeta.Namespace + "~" + s.host.ObjectMeta.Name }

// node returns the host's node as the API shows it, nil if there is none.
func (s *site) node() map[string]any {
	s.Helper()
	status, n := s.request(http.MethodGet, "/v1/nodes/"+s.nodeName(), nil)
	if status == http.StatusNotFound {
		return nil
	}
	require.Equal(s, http.StatusOK, status)
	return n
}

// request sends a request of another client than the operator.
func (s *site) request(method, path string, body map[string]any) (status int, answer map[string]any) {
	s.Helper()
	text, err := json.Marshal(body)
	require.NoError(s, err)
	request, err := http.NewRequestWithContext(s.Context(), method, s.url+path, bytes.NewReader(text))
	require.NoError(s, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	if len(content) > 0 {
		require.NoError(s, json.Unmarshal(content, &answer))
	}
	return response.StatusCode, answer
}

func (s *site) requireState(want states.State) {
	s.Helper()
	n := s.node()
	require.Equal(s, want.String(), n["provision_state"], n["last_error"])
}
