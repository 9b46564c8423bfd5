// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// redfishManagement is the management interface "redfish".
//
// Source: ironic/drivers/modules/redfish/management.py, also for the texts.
type redfishManagement struct{ bmcManagement }

// redfishError returns the error of a function whose request a BMC has refused, with Ironic's text, in which NODE
// stands for the node's UUID. It returns nil for nil, and an error about the node's record as it is.
//
// Source: RedfishError in ironic/common/exception.py.
func redfishError(n *conductor.Node, text string, err error) error {
	if err == nil || errors.Is(err, conductor.Invalid) {
		return err
	}
	return fmt.Errorf("Redfish exception occurred. Error: %s%w", strings.Replace(text, "NODE", n.UUID, 1), err)
}

// redfishErrorIfSupported is redfishError, except for operations that the BMC does not support.
func redfishErrorIfSupported(n *conductor.Node, text string, err error) error {
	if errors.Is(err, verify.Unsupported) {
		return err
	}
	return redfishError(n, text, err)
}

// SetBootDevice implements [Management].
func (b redfishManagement) SetBootDevice(ctx context.Context, n *conductor.Node, device string, persistent bool) error {
	err := b.bmcManagement.SetBootDevice(ctx, n, device, persistent)
	return redfishError(n, "Redfish set boot device failed for node NODE. Error: ", err)
}

// KeepBootMode implements [BootModeKeeper] for machines of Supermicro, some of which change the boot mode beside the
// boot device even if the request has one.
//
// Source: set_boot_device in ironic/drivers/modules/redfish/management.py, and sync_boot_mode in
// ironic/drivers/modules/boot_mode_utils.py.
func (b redfishManagement) KeepBootMode(ctx context.Context, n *conductor.Node, changed error) error {
	vendor, _ := n.Properties["vendor"].(string)
	mode := n.WantedBootMode()
	if mode == "" || !strings.EqualFold(vendor, "supermicro") {
		return changed
	}
	now := ""
	err := b.do(n, func(d *bmc.Driver) (err error) {
		if err = d.SetBootMode(ctx, n.UUID, mode); err == nil {
			now, err = d.BootMode(ctx, n.UUID)
		}
		return err
	})
	if err == nil && now != mode {
		return changed
	}
	return redfishErrorIfSupported(n, "Setting boot mode to "+mode+" failed for node NODE. Error: ", err)
}

// RestoreBootDevice sets the boot device again that the BMC does not keep. If that fails, the machine boots by its own
// order, and the log says so, as in Ironic.
func (b redfishManagement) RestoreBootDevice(ctx context.Context, n *conductor.Node) error {
	device, _ := n.DriverInternalInfo[onceKey].(string)
	if device == "" {
		return nil
	}
	err := b.do(n, func(d *bmc.Driver) error { return d.SetBootDevice(ctx, n.UUID, device, false) })
	if bmc.RefusedAtLogin(err) {
		return err
	}
	if err != nil {
		b.config.Log.WarnContext(ctx, "unable to recover the boot device, relying on the pre-configured boot order",
			"node", n.UUID, "device", device, "error", err)
	}
	return nil
}

// InjectNMI implements [NMIInjector].
func (b redfishManagement) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return redfishErrorIfSupported(n, "Redfish inject NMI failed for node NODE. Error: ", b.bmcManagement.InjectNMI(ctx, n))
}

// SetBootMode implements [BootModeSetter].
func (b redfishManagement) SetBootMode(ctx context.Context, n *conductor.Node, mode string) error {
	err := b.do(n, func(d *bmc.Driver) error { return d.SetBootMode(ctx, n.UUID, mode) })
	if err == nil {
		err = b.awaitSetting(ctx, n, "boot mode", mode, func() (string, error) { return ask(ctx, b.bmcs, n, (*bmc.Driver).BootMode) })
	}
	return redfishErrorIfSupported(n, "Setting boot mode to "+mode+" failed for node NODE. Error: ", err)
}

// SetSecureBoot implements [BootModeSetter].
func (b redfishManagement) SetSecureBoot(ctx context.Context, n *conductor.Node, enabled bool) error {
	err := b.do(n, func(d *bmc.Driver) error { return d.SetSecureBoot(ctx, n.UUID, enabled) })
	if err == nil {
		err = b.awaitSetting(ctx, n, "secure boot state", pyrepr.Of(enabled), func() (string, error) {
			now, err := ask(ctx, b.bmcs, n, (*bmc.Driver).SecureBoot)
			return pyrepr.Of(now), err
		})
	}
	return redfishErrorIfSupported(n, "Failed to set secure boot state on node NODE to "+pyrepr.Of(enabled)+": ", err)
}

// VirtualMedia implements [MediaManager].
func (b redfishManagement) VirtualMedia(ctx context.Context, n *conductor.Node) (media []conductor.VirtualMedia, err error) {
	slots, err := ask(ctx, b.bmcs, n, (*bmc.Driver).VirtualMedia)
	for _, s := range slots {
		media = append(media, conductor.VirtualMedia(s))
	}
	return media, redfishErrorIfSupported(n, "Failed to read the virtual media of node NODE: ", err)
}

// AttachVirtualMedia implements [MediaManager].
func (b redfishManagement) AttachVirtualMedia(ctx context.Context, n *conductor.Node, device, image string) error {
	err := b.do(n, func(d *bmc.Driver) error { return d.InsertMedia(ctx, n.UUID, device, image) })
	return redfishErrorIfSupported(n, "Failed to insert virtual media of node NODE: ", err)
}

// DetachVirtualMedia implements [MediaManager].
func (b redfishManagement) DetachVirtualMedia(ctx context.Context, n *conductor.Node, devices []string) error {
	err := b.do(n, func(d *bmc.Driver) error { return d.EjectMedia(ctx, n.UUID, devices...) })
	return redfishErrorIfSupported(n, "Failed to eject virtual media of node NODE: ", err)
}

// ReadMACs implements [MACReader].
func (b redfishManagement) ReadMACs(ctx context.Context, n *conductor.Node) ([]string, error) {
	macs, err := ask(ctx, b.bmcs, n, (*bmc.Driver).MACAddresses)
	return macs, redfishError(n, "Failed to get network interface information on node NODE: ", err)
}

// ReadBootMode implements [BootModeReader].
//
// Source: get_boot_mode and get_secure_boot_state in ironic/drivers/modules/redfish/management.py.
func (b redfishManagement) ReadBootMode(ctx context.Context, n *conductor.Node) (mode string, secureBoot *bool, err error) {
	if mode, err = ask(ctx, b.bmcs, n, (*bmc.Driver).BootMode); err != nil {
		return mode, nil, err
	}
	enabled, err := ask(ctx, b.bmcs, n, (*bmc.Driver).SecureBoot)
	if errors.Is(err, verify.Unsupported) {
		return mode, nil, nil
	}
	return mode, &enabled, err
}

// ReadHealth implements [conductor.HealthReader].
func (b redfishManagement) ReadHealth(ctx context.Context, n *conductor.Node) (string, error) {
	return ask(ctx, b.bmcs, n, (*bmc.Driver).Health)
}
