// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/internal/exchanges"
	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

var recordRedfish = flag.Bool("redfish.record", false, "write the responses of Ironic to the exchanges of conductor/hardware")

const redfishConfig = `
[DEFAULT]
enabled_hardware_types = redfish,fake-hardware
enabled_bios_interfaces = redfish,fake,no-bios
enabled_boot_interfaces = ipxe,redfish-virtual-media,fake
enabled_deploy_interfaces = ramdisk,direct,fake
enabled_firmware_interfaces = redfish,no-firmware,fake
default_deploy_interface = ramdisk
enabled_inspect_interfaces = redfish,fake
enabled_management_interfaces = redfish,fake
enabled_power_interfaces = redfish,fake
enabled_rescue_interfaces = no-rescue,fake
enabled_vendor_interfaces = redfish,no-vendor,fake
[agent]
certificates_path = DIR
[service_catalog]
endpoint_override = http://127.0.0.1:PORT
[redfish]
use_swift = false
connection_attempts = 1
[deploy]
ramdisk_image_download_source = http
`

// TestIronicsRedfishExchangesAreTheRecordedOnes plays the exchanges that the tests of conductor/hardware
// expect against the Ironic of this machine and Ironics of later series, a BMC of bmctest and an agent of agenttest.
func TestIronicsRedfishExchangesAreTheRecordedOnes(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	for _, root := range append([]string{""}, Folders()...) {
		t.Run(filepath.Base("this machine"+root), func(t *testing.T) {
			t.Parallel()
			playRedfish(t, start(t, Options{Root: root, Config: redfishConfig}))
		})
	}
}

// playRedfish plays the exchanges of the series of an Ironic.
func playRedfish(t *testing.T, i *Ironic) {
	iso := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(iso.Close)
	const mac = "52:54:00:00:00:01"
	machine, err := agenttest.New(agenttest.Config{API: i.Endpoint(), MACs: []string{mac}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, machine.Close()) })
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{
		Systems: []bmctest.System{
			{ID: "1", Hardware: bmctest.Hardware{MACs: []string{mac, "52:54:00:00:00:02"}}, OnPower: machine.Power},
			{ID: "refuses", Hardware: bmctest.Hardware{DIMMs: -1}},
		},
		Faults: []bmctest.Fault{ // of the system that refuses
			{On: "/redfish/v1/Systems/refuses", Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)},
			{On: "/redfish/v1/Systems/refuses/Actions/ComputerSystem.Reset", Do: bmctest.Status(http.StatusBadRequest)},
			{On: "/redfish/v1/Systems/refuses/SecureBoot", Method: http.MethodPatch, Do: bmctest.Status(http.StatusBadRequest)},
			{On: "/redfish/v1/Systems/refuses/Bios", Do: bmctest.Status(http.StatusBadRequest)},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(certificate, server.CAPEM, 0o600))

	for _, file := range []string{"redfish.txt", "bios.txt", "refusals.txt"} {
		file = filepath.Join("../../conductor/hardware/testdata", i.Series.String(), file)
		recorded, err := os.ReadFile(file)
		require.NoError(t, err)
		played, err := exchanges.Play(i.Endpoint(), string(recorded), map[string]string{
			"ADDRESS": server.URL, "CERTIFICATE": certificate, "USER": bmctest.DefaultUser, "PASSWORD": bmctest.DefaultPassword, "ISO": iso.URL,
		})
		require.NoError(t, err)
		if *recordRedfish {
			require.NoError(t, os.WriteFile(file, []byte(played), 0o600))
			continue
		}
		require.Equal(t, string(recorded), played)
	}
}
