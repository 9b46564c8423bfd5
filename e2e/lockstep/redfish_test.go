// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/exchanges"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

var recordRedfish = flag.Bool("redfish.record", false, "write the responses of Ironic to the exchanges of conductor/hardware")

const redfishConfig = `
[DEFAULT]
enabled_hardware_types = redfish,fake-hardware
enabled_bios_interfaces = redfish,fake,no-bios
enabled_boot_interfaces = ipxe,fake
enabled_deploy_interfaces = ramdisk,fake
enabled_inspect_interfaces = redfish,fake
enabled_management_interfaces = redfish,fake
enabled_power_interfaces = redfish,fake
enabled_rescue_interfaces = no-rescue,fake
enabled_vendor_interfaces = redfish,no-vendor,fake
`

// TestIronicsRedfishExchangesAreTheRecordedOnes plays the exchanges that the tests of conductor/hardware
// expect against the real Ironic and a BMC of bmctest.
func TestIronicsRedfishExchangesAreTheRecordedOnes(t *testing.T) {
	for _, name := range []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} { // requests prefers them to the node's redfish_verify_ca
		t.Setenv(name, "")
	}
	i := start(t, Options{Config: redfishConfig})
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{
		{ID: "1", Hardware: bmctest.Hardware{MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}}},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(certificate, server.CAPEM, 0o600))

	const file = "../../conductor/hardware/testdata/redfish.txt"
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	played, err := exchanges.Play(i.Endpoint(), string(recorded), map[string]string{
		"ADDRESS": server.URL, "CERTIFICATE": certificate, "USER": bmctest.DefaultUser, "PASSWORD": bmctest.DefaultPassword,
	})
	require.NoError(t, err)
	if *recordRedfish {
		require.NoError(t, os.WriteFile(file, []byte(played), 0o600))
		return
	}
	require.Equal(t, string(recorded), played)
}
