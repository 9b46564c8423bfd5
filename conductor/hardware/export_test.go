// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"net"
	"time"

	"github.com/bmc-toolbox/bmclib/v2"
	provider "github.com/bmc-toolbox/bmclib/v2/bmc"

	"github.com/ironstate/ironstate/conductor"
)

// AwaitBIOS sets how long a step waits for the BIOS settings that it has set, and how often it reads them.
func (t *Type) AwaitBIOS(timeout, interval time.Duration) {
	t.bmcs().biosTimeout, t.bmcs().biosInterval = timeout, interval
}

// bmcs returns the BMCs of the type "redfish" or "ipmi".
func (t *Type) bmcs() *bmcs { return t.interfaces.Power[0].(bmcPower).bmcs }

// on returns a node of the type with the interfaces that it has chosen.
func (t *Type) on(n *conductor.Node) Node {
	node, err := t.node(n)
	if err != nil {
		panic(err)
	}
	return node
}

// ChangeByBMCLib makes a change by the type "bmclib".
func ChangeByBMCLib(ctx context.Context, n *conductor.Node, do func(context.Context, *bmclib.Client) (bool, error)) error {
	return anyBMC{time.Minute, (&net.Dialer{}).DialContext}.change(ctx, n, "change", do)
}

// NewBMCLibDialing returns the type "bmclib" whose connections to BMCs are opened by a function.
func NewBMCLibDialing(c Config, dial dialer) (*Type, error) { return New(c, bmclibInterfaces(c, dial)) }

// BMCLibDialing returns the interfaces of that type.
var BMCLibDialing = bmclibInterfaces

// PauseFirmwareUpdates sets what an update of firmware by the type "bmclib" does in place of waiting.
func (t *Type) PauseFirmwareUpdates(pause func(ctx context.Context, d time.Duration) bool) {
	t.interfaces.Firmware[0].(*bmclibFirmware).pause = pause
}

// CheckFirmwareSettings checks the argument of an update of firmware by the type "bmclib".
func CheckFirmwareSettings(argument any) error {
	_, err := firmwareSettings(argument)
	return err
}

// SetsBootDevicesByBMCLib reports whether a node's provider of bmclib sets boot devices.
func SetsBootDevicesByBMCLib(n *conductor.Node) bool {
	sets, _ := has[provider.BootDeviceSetter](context.Background(), anyBMC{}, n)
	return sets
}

// InstallsByBMCLib reports whether a node's provider of bmclib installs firmware.
func InstallsByBMCLib(n *conductor.Node) bool {
	is, err := has[provider.FirmwareInstallStepsGetter](context.Background(), anyBMC{}, n)
	return is && err == nil
}

// WithoutTask decides whether an update by the type "bmclib" is done whose task the BMC has lost.
var WithoutTask = withoutTask
