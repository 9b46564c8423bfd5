// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// bootEntriesLost lists vendors, in lower case, whose machines in UEFI mode lose the boot entries that the agent has
// written once their BMC sets a boot device.
//
// Source: set_boot_to_disk in ironic/drivers/modules/agent.py, prepare_instance in ironic/drivers/modules/pxe_base.py.
var bootEntriesLost = []string{"lenovo"}

// losesBootEntries reports whether the node's machine is one of bootEntriesLost.
func losesBootEntries(n *conductor.Node) bool {
	vendor, _ := n.Properties["vendor"].(string)
	return n.WantedBootMode() != "bios" && slices.Contains(bootEntriesLost, strings.ToLower(vendor))
}

// unsuitedBMCs lists BMCs that boot virtual media of Redfish only by properties of their vendor's own: by a word of the
// vendor's name, and by the first number of the firmware's version or the first word of the BMC's model, since the
// versions of an iDRAC 10 begin with 1 again. Ironic refuses an iDRAC 10 too, which boots from its first slot.
//
// Source: _validate_vendor in ironic/drivers/modules/redfish/boot.py; for the models, _get_idrac_version_from_model in
// drac/boot.py beside it, and issue 693 of github.com/dell/dellemc-openmanage-ansible-modules.
var unsuitedBMCs = []struct {
	vendor         string
	majors, models []string
	reason         string
}{
	{"Dell", []string{"3", "4", "5"}, nil, "an iDRAC 9 needs 6.00.00.00 or later"},
	{"Dell", nil, []string{"12G", "13G"}, "an iDRAC 7 or 8 boots a CD in its drive instead"},
}

// checkMediaBMC returns an error for a node whose BMC is one of unsuitedBMCs.
func checkMediaBMC(n Node) error {
	vendor, _ := n.Properties["vendor"].(string)
	i := slices.IndexFunc(n.Firmware, func(c conductor.FirmwareComponent) bool { return c.Component == "bmc" })
	if i < 0 {
		return nil
	}
	version := n.Firmware[i].CurrentVersion
	major, _, _ := strings.Cut(version, ".")
	model, _, _ := strings.Cut(n.Firmware[i].Model, " ")
	for _, u := range unsuitedBMCs {
		if slices.Contains(strings.Fields(vendor), u.vendor) && (slices.Contains(u.majors, major) || slices.Contains(u.models, model)) {
			return invalidf("The %s boot interface is not suitable for node %s with vendor %s and BMC version %s: %s",
				n.Chosen.Boot.Name(), n.UUID, vendor, version, u.reason)
		}
	}
	return nil
}
