// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"slices"

	"github.com/bmc-toolbox/bmclib/v2"

	"github.com/ironstate/ironstate/conductor"
)

// bmclibManagement is the management interface "bmclib".
type bmclibManagement struct{ anyBMC }

// BootDevices implements [Management].
func (bmclibManagement) BootDevices(_ context.Context, n *conductor.Node) ([]string, error) {
	word, _ := n.DriverInfo["bmclib_provider"].(string)
	return slices.Clone(bmclibProviders[word].devices), nil
}

// BootDevice implements [Management]: no provider can read it.
func (bmclibManagement) BootDevice(_ context.Context, n *conductor.Node) (device string, persistent bool, err error) {
	return "", false, noFunction(n, "get_boot_device")
}

// SetBootDevice implements [Management].
func (b bmclibManagement) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	word, _ := n.DriverInfo["bmclib_provider"].(string)
	row := bmclibProviders[word]
	switch {
	case len(row.devices) == 0:
		return noFunction(n, "set_boot_device")
	case !slices.Contains(row.devices, device):
		return invalidDevice(device)
	case row.once && persistent:
		return invalidf("The provider %s sets the boot device for the next boot alone.", word)
	}
	return b.change(ctx, n, "set boot device "+device, func(ctx context.Context, c *bmclib.Client) (bool, error) {
		return c.SetBootDevice(ctx, device, persistent, n.WantedBootMode() != "bios")
	})
}
