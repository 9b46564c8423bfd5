// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// consumer is a service that manages a machine by bmclib's RPC.
type consumer struct {
	mu      sync.Mutex
	power   string
	asked   []string // the methods
	devices []any
	refuse  atomic.Bool
}

func (s *consumer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var call struct {
		ID     int64
		Method string
		Params map[string]any
	}
	if json.NewDecoder(r.Body).Decode(&call) != nil || r.Header.Get("X-BMCLIB-Signature-256") == "" {
		http.Error(w, "not signed", http.StatusForbidden)
		return
	}
	s.asked = append(s.asked, call.Method)
	var result any
	switch call.Method {
	case "getPowerState":
		result = s.power
	case "setPowerState":
		s.power = map[any]string{"on": "on", "cycle": "on", "off": "off"}[call.Params["state"]]
	case "setBootDevice":
		s.devices = append(s.devices, call.Params)
	}
	answer := map[string]any{"id": call.ID, "host": "machine-7", "result": result}
	if s.refuse.Load() && call.Method != "ping" {
		answer["error"] = map[string]any{"code": 500, "message": "no, " + password}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = w.Write(text)
}

func (s *consumer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func startConsumer(t *testing.T) (*consumer, *httptest.Server, map[string]any) {
	s := &consumer{power: "off"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server, map[string]any{
		"bmclib_provider": "rpc", "bmclib_address": server.URL, "bmclib_host": "machine-7", "bmclib_password": password,
	}
}

func newBMCLib(t *testing.T) *hardware.Type {
	b, err := hardware.NewBMCLib(hardware.Config{})
	require.NoError(t, err)
	return b
}

func TestTheTypeBMCLibKeepsThePromisesOfHardware(t *testing.T) {
	s, server, info := startConsumer(t)
	require.NoError(t, hardwaretest.Check(hardwaretest.Config{
		Hardware: newBMCLib(t), Node: &conductor.Node{Driver: "bmclib", DriverInfo: info},
		Changes: s.count, Secrets: []string{password}, Break: server.Close,
	}))
}

func TestAProviderOfBMCLibManagesAMachine(t *testing.T) {
	s, _, info := startConsumer(t)
	b, n := newBMCLib(t), &conductor.Node{UUID: uuid, Driver: "bmclib", DriverInfo: info}
	require.NoError(t, b.SetPower(t.Context(), n, states.PowerRebooting))
	require.NoError(t, b.SetBootDevice(t.Context(), n, "cdrom", true))
	n.InstanceInfo = map[string]any{"capabilities": map[string]any{"boot_mode": "bios"}}
	require.NoError(t, b.SetBootDevice(t.Context(), n, "disk", false))
	require.Equal(t, []string{"ping", "setPowerState", "ping", "setBootDevice", "ping", "setBootDevice"}, s.asked)
	require.Equal(t, []any{
		map[string]any{"device": "cdrom", "persistent": true, "efiBoot": true},
		map[string]any{"device": "disk", "persistent": false, "efiBoot": false},
	}, s.devices)
	power, err := b.Verify(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, states.PowerOn, power)
	require.ErrorIs(t, b.SetBootDevice(t.Context(), n, "tape", false), conductor.Invalid)
	require.ErrorIs(t, b.AttachVirtualMedia(t.Context(), n, "cdrom", "http://h/a"), conductor.Unsupported, "bmclib's providers have none")
	require.ErrorIs(t, b.DetachVirtualMedia(t.Context(), n, []string{"cdrom"}), conductor.Unsupported)
	_, _, err = b.BootDevice(t.Context(), n)
	require.ErrorIs(t, err, conductor.Unsupported)
	_, err = b.VirtualMedia(t.Context(), n)
	require.ErrorIs(t, err, conductor.Unsupported)

	for done, want := range map[bool]string{true: "", false: "the provider has not done it"} {
		err := hardware.ChangeByBMCLib(t.Context(), n, func(context.Context, *bmclib.Client) (bool, error) { return done, nil })
		require.Equal(t, done, err == nil)
		if !done {
			require.ErrorContains(t, err, want)
		}
	}
	s.refuse.Store(true)
	err = b.SetPower(t.Context(), n, states.PowerOff)
	require.ErrorContains(t, err, "set power off: failed: ")
	require.ErrorContains(t, err, "no, ")
	require.NotContains(t, err.Error(), password)
}

func TestAProviderOfBMCLibSetsTheBootDevicesThatItHas(t *testing.T) {
	b := newBMCLib(t)
	for _, word := range []string{"asrockrack", "dell", "intel-amt", "openbmc", "rpc", "supermicro"} {
		n := &conductor.Node{UUID: uuid, Driver: "bmclib", DriverInfo: map[string]any{
			"bmclib_provider": word, "bmclib_address": "http://127.0.0.1", "bmclib_username": "u", "bmclib_password": password,
		}}
		devices, err := b.BootDevices(t.Context(), n)
		require.NoError(t, err)
		sets := hardware.SetsBootDevicesByBMCLib(n)
		require.Equal(t, sets, len(devices) > 0, word)
		if !sets {
			require.ErrorIs(t, b.SetBootDevice(t.Context(), n, "pxe", false), conductor.Unsupported, word)
		}
		if word == "intel-amt" {
			require.Equal(t, []string{"pxe"}, devices)
			require.ErrorIs(t, b.SetBootDevice(t.Context(), n, "disk", false), conductor.Invalid)
			require.ErrorIs(t, b.SetBootDevice(t.Context(), n, "pxe", true), conductor.Invalid, "it would be for one boot")
		}
	}
}

func TestTheConfigurationOfBMCLibIsChecked(t *testing.T) {
	_, _, valid := startConsumer(t)
	b := newBMCLib(t)
	users := map[string]any{"rpc": nil, "dell": "u", "intel-amt": "u", "supermicro": "u", "asrockrack": "u", "openbmc": "u"}
	for provider, user := range users {
		info := map[string]any{
			"bmclib_provider": provider, "bmclib_address": valid["bmclib_address"], "bmclib_password": "p", "bmclib_username": user,
		}
		require.NoError(t, b.Validate(&conductor.Node{DriverInfo: info})["power"], provider)
	}
	for _, test := range []struct {
		key   string
		value any
		text  string
	}{
		{"bmclib_provider", nil, "Missing the following bmclib properties in node " + uuid},
		{"bmclib_provider", nil, "driver_info: ['bmclib_provider', 'bmclib_username']"},
		{"bmclib_provider", "dell", "['bmclib_username']"},
		{"bmclib_provider", "gofish", "['bmclib_username']"},
		{"bmclib_address", "192.0.2.1", "with rpc it must be an http or https URL"},
		{"bmclib_password", "", "['bmclib_password']"},
		{"bmclib_verify_ca", "perhaps", "neither true, nor false"},
		{"bmclib_address", true, "it must be text"},
	} {
		n := &conductor.Node{UUID: uuid, DriverInfo: map[string]any{}}
		for key, value := range valid {
			n.DriverInfo[key] = value
		}
		n.DriverInfo[test.key] = test.value
		require.ErrorContains(t, b.Validate(n)["power"], test.text)
		require.ErrorIs(t, b.Validate(n)["power"], conductor.Invalid)
	}
	n := &conductor.Node{DriverInfo: map[string]any{
		"bmclib_provider": "gofish", "bmclib_address": "a", "bmclib_password": "p", "bmclib_username": "u",
	}}
	require.ErrorContains(t, b.Validate(n)["power"], `want one of ["asrockrack" "dell" "intel-amt" "openbmc" "rpc" "supermicro"]`)
}

// TestProvidersOfBMCLibManageABMC runs two providers, which know no port but 443, with a BMC of their family.
func TestProvidersOfBMCLibManageABMC(t *testing.T) {
	home := bmctest.Fault{On: "/", Do: bmctest.Handle("the page of OpenBMC", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("OpenBMC"))
	})}
	for provider, config := range map[string]bmctest.RedfishConfig{
		"dell":    {Profile: bmctest.Dell()},
		"openbmc": {Profile: bmctest.Profile{BMCVersion: "2.9.1"}, Faults: []bmctest.Fault{home}},
	} {
		t.Run(provider, func(t *testing.T) {
			server, err := bmctest.NewRedfish(config)
			require.NoError(t, err)
			defer func() { require.NoError(t, server.Close()) }()
			b, err := hardware.NewBMCLibDialing(hardware.Config{}, dialer(server))
			require.NoError(t, err)
			ca := filepath.Join(t.TempDir(), "ca.pem")
			require.NoError(t, os.WriteFile(ca, server.CAPEM, 0o600))
			n := &conductor.Node{UUID: uuid, Driver: "bmclib", DriverInfo: map[string]any{
				"bmclib_provider": provider, "bmclib_address": server.Host, "bmclib_verify_ca": ca,
				"bmclib_username": bmctest.DefaultUser, "bmclib_password": bmctest.DefaultPassword,
			}}
			for _, power := range []states.Power{states.PowerOn, states.PowerOff} {
				require.NoError(t, b.SetPower(t.Context(), n, power))
				found, err := b.Verify(t.Context(), n)
				require.NoError(t, err)
				require.Equal(t, power, found)
			}
			firmware, err := b.ReadFirmware(t.Context(), n)
			require.NoError(t, err)
			require.Len(t, firmware, 2)
			require.Equal(t, "bios", firmware[0].Component)
			require.Equal(t, "1.8.2", firmware[0].CurrentVersion)
			require.Equal(t, "bmc", firmware[1].Component)
			require.Equal(t, config.Profile.BMCVersion, firmware[1].CurrentVersion)
			require.Zero(t, server.Logins().Failed)
			require.Empty(t, server.Sessions(), "each call logs out")
		})
	}
	_, _, rpc := startConsumer(t)
	firmware, err := newBMCLib(t).ReadFirmware(t.Context(), &conductor.Node{DriverInfo: rpc})
	require.NoError(t, err)
	require.Nil(t, firmware)
}

// The provider supermicro appends its port and its paths to the address, which are a query here.
func TestTheProviderSupermicroVerifiesCertificates(t *testing.T) {
	server := startRedfish(t, func(*bmctest.RedfishConfig) {})
	for _, test := range []struct {
		ca      any
		reaches bool
	}{{true, false}, {redfishInfo(t, server)["redfish_verify_ca"], true}, {false, true}} {
		before := len(server.Requests())
		_, err := newBMCLib(t).Verify(t.Context(), &conductor.Node{UUID: uuid, Driver: "bmclib", DriverInfo: map[string]any{
			"bmclib_provider": "supermicro", "bmclib_address": server.Addr + "/?", "bmclib_verify_ca": test.ca,
			"bmclib_username": user, "bmclib_password": password,
		}})
		require.Error(t, err)
		require.Equal(t, test.reaches, len(server.Requests()) > before, "%v: %v", test.ca, err)
	}
}
