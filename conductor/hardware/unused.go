// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"github.com/ironstate/ironstate/conductor"
)

// An owner is the Ironic interface that reads a key.
type owner string

const (
	usedByRedfish  owner = "redfish"  // all interfaces of the BMC
	usedByIPMI     owner = "ipmitool" // all interfaces of the BMC
	usedByMedia    owner = "redfish-virtual-media"
	usedByNetwork  owner = "ipxe and pxe"
	usedByFirmware owner = "firmware redfish"
	usedByConsole  owner = "console ipmitool"
)

// unusedKeys lists the keys of driver_info that Ironic's interfaces use and these do not. A value that would make
// Ironic do something else than these interfaces is refused, by the validation and where the interface is used: a key
// is never accepted and ignored. Keys about bridging over IPMI are not listed: Ironic uses them with ipmi_bridging
// alone.
//
// Source: get_properties and driver_info in ironic/drivers/modules of Ironic 39.0.0: redfish/utils.py, redfish/boot.py,
// redfish/firmware.py, ipmitool.py, deploy_utils.py, and get_agent_iso in ironic/drivers/utils.py.
var unusedKeys = []struct {
	by   owner
	key  string
	same string // the value that changes nothing; "false" stands for all words for it
	why  string
}{
	{usedByRedfish, "redfish_tls_minimum_version", "1.2", "only 1.2 is supported, which is the default"},
	{usedByRedfish, "redfish_tls_ciphers", "", "it is not supported"},
	{usedByIPMI, "ipmi_protocol_version", "2.0", "only IPMI 2.0 is supported"},
	{usedByIPMI, "ipmi_priv_level", "ADMINISTRATOR", "only ADMINISTRATOR is supported"},
	{usedByIPMI, "ipmi_bridging", "no", "bridging is not supported"},
	{usedByIPMI, "ipmi_hex_kg_key", "", "a key of the BMC's is not supported, since ipmitool takes it in its arguments"},
	{usedByIPMI, "ipmi_force_boot_device", "false", "only false is supported"},
	{usedByMedia, "config_via_removable", "false", "only false is supported"},
	{usedByMedia, "config_via_floppy", "false", "only false is supported"},
	{usedByMedia, "external_http_url", "", "it is not supported; the service has one address of images"},
	{usedByMedia, "redfish_deploy_iso", "", "use deploy_iso"},
	{usedByMedia, "redfish_rescue_iso", "", "use rescue_iso"},
	{usedByMedia, "vmedia_transport_protocol", "HTTP", "only HTTP is supported, which is the default: the BMC loads images from their URLs"},
	{usedByNetwork, "pxe_template", "", "it is not supported; the service or the network has the script that machines boot"},
	{usedByFirmware, "firmware_update_unresponsive_bmc_wait", "", "firmware is not updated"},
	{usedByConsole, "ipmi_terminal_port", "", "there is no console"},
}

// checkUnused refuses a value of a key that the interfaces do not use.
func (i info) checkUnused(by owner) error {
	for _, row := range unusedKeys {
		if row.by != by {
			continue
		}
		var err error
		if row.same == "false" {
			on := false
			if on, err = i.boolean(row.key, false); on {
				err = i.invalid(row.key, "%s", row.why)
			}
		} else {
			err = i.only(row.key, row.why, row.same)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// validateConsole returns the error of the interface "no-console", which names the key that Ironic's console uses.
func validateConsole(n Node) error {
	lacks := None("console").Validate(n)
	if err := (info{n.Node}).checkUnused(usedByConsole); err != nil {
		return &conductor.Error{Reason: conductor.Unsupported, Text: lacks.Error() + " " + err.Error(), Err: err}
	}
	return lacks
}
