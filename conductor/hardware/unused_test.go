// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/states"
)

// ironicKeys lists the keys of driver_info that the interfaces redfish, ipmitool, redfish-virtual-media, ipxe, pxe and
// direct of Ironic 39.0.0 know, by hardware type, without the keys for ipmi_bridging.
var ironicKeys = map[string]string{
	"redfish": "redfish_address redfish_system_id redfish_username redfish_password redfish_verify_ca redfish_auth_type " +
		"redfish_tls_minimum_version redfish_tls_ciphers firmware_update_unresponsive_bmc_wait deploy_kernel deploy_ramdisk deploy_iso " +
		"rescue_kernel rescue_ramdisk rescue_iso redfish_deploy_iso redfish_rescue_iso bootloader kernel_append_params " +
		"force_persistent_boot_device config_via_removable config_via_floppy external_http_url vmedia_transport_protocol pxe_template " +
		"image_http_proxy image_https_proxy image_no_proxy image_download_source deploy_forces_oob_reboot agent_verify_ca",
	"ipmi": "ipmi_address ipmi_port ipmi_username ipmi_password ipmi_hex_kg_key ipmi_priv_level ipmi_bridging ipmi_protocol_version " +
		"ipmi_force_boot_device ipmi_disable_boot_timeout ipmi_cipher_suite ipmi_terminal_port deploy_kernel deploy_ramdisk " +
		"rescue_kernel rescue_ramdisk kernel_append_params force_persistent_boot_device pxe_template image_http_proxy image_https_proxy " +
		"image_no_proxy image_download_source deploy_forces_oob_reboot agent_verify_ca",
}

// unusedKeys maps the keys that have no effect to the kinds of interfaces whose validation names them.
var unusedKeys = map[string]string{
	"firmware_update_unresponsive_bmc_wait": "firmware", "ipmi_terminal_port": "console",
	"vmedia_transport_protocol": "boot deploy", "config_via_removable": "boot deploy", "config_via_floppy": "boot deploy",
	"external_http_url": "boot deploy", "redfish_deploy_iso": "boot deploy", "redfish_rescue_iso": "boot deploy",
	"pxe_template":                "boot deploy",
	"redfish_tls_minimum_version": "power management", "redfish_tls_ciphers": "power management", "ipmi_hex_kg_key": "power management",
	"ipmi_priv_level": "power management", "ipmi_bridging": "power management", "ipmi_protocol_version": "power management",
	"ipmi_force_boot_device": "power management",
}

func TestEachKeyOfDriverInfoThatIronicKnowsIsDescribedOrRefused(t *testing.T) {
	all := types(t)
	for driver, keys := range ironicKeys {
		properties := all[driver].Describe().Properties
		for key := range strings.SplitSeq(keys, " ") {
			refused := unusedKeys[key]
			if refused == "" {
				require.Contains(t, properties, key, driver)
				continue
			}
			boots := []string{"redfish-virtual-media"}
			if driver == "ipmi" || key == "pxe_template" {
				boots = []string{"ipxe", "pxe"}
			}
			for _, boot := range boots {
				n := with(driver, map[string]any{"deploy_iso": image, key: "true"})
				n.Interfaces = map[string]string{"boot": boot, "deploy": "custom-agent"}
				got := all[driver].Validate(n)
				for kind := range strings.SplitSeq(refused, " ") {
					require.ErrorContains(t, got[kind], "Invalid "+key+" in node "+uuid+" driver_info", "%s %s", driver, kind)
				}
				n.DriverInfo[key] = map[string]string{
					"vmedia_transport_protocol": "HTTP", "config_via_removable": "False", "config_via_floppy": "no",
				}[key]
				require.NoError(t, all[driver].Validate(n)["boot"], "%s: a value that changes nothing", key)
			}
		}
	}
}

func TestAKeyOfDriverInfoThatIsNotUsedStopsTheWorkThatWouldIgnoreIt(t *testing.T) {
	for _, test := range []struct{ boot, key string }{
		{"redfish-virtual-media", "vmedia_transport_protocol"}, {"ipxe", "pxe_template"}, {"pxe", "pxe_template"},
	} {
		s := start(t, hardware.Config{})
		server := startRedfish(t)
		from := func(state states.State) *conductor.Node {
			return s.node(redfishMachine(server, t), withMedia(state, "custom-agent", map[string]any{test.key: "CIFS"}, nil),
				func(n *conductor.Node) { n.Interfaces["boot"], n.AutomatedClean = test.boot, nil })
		}
		err := s.Provision(t.Context(), from(states.Available).UUID, s.word("active"))
		require.ErrorIs(t, err, conductor.Invalid)
		require.ErrorContains(t, err, "Invalid "+test.key+" in node ")

		n := s.request(from(states.Manageable), "provide")
		require.Equal(t, states.CleanFail, n.ProvisionState, test.boot)
		require.Contains(t, n.LastError, "Invalid "+test.key+" in node ")
	}
}
