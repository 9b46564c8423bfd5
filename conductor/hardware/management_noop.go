// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
)

// NoManagement returns the management interface "noop". It does not set a boot device on the machine, whose own boot
// order must be the network first, then the disk.
//
// Source: ironic/drivers/modules/noop_mgmt.py.
func NoManagement() Management { return noManagement{"noop"} }

type noManagement struct{ named }

func (noManagement) Validate(Node) error { return nil }

var noopBootDevices = []string{"pxe", "disk"}

func (noManagement) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return slices.Clone(noopBootDevices), nil
}

func (noManagement) BootDevice(context.Context, *conductor.Node) (device string, persistent bool, err error) {
	return "pxe", true, nil
}

func (noManagement) SetBootDevice(_ context.Context, _ *conductor.Node, device string, _ bool) error {
	if !slices.Contains(noopBootDevices, device) {
		return invalidf("Invalid boot device %s specified, supported are %s.", device, strings.Join(noopBootDevices, ", "))
	}
	return nil
}
