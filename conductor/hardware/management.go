// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// redfishError returns the error of a function whose request a BMC has refused, with Ironic's text, in which NODE stands for
// the node's UUID. It returns nil for nil.
//
// Source: RedfishError in ironic/common/exception.py.
func redfishError(n *conductor.Node, text string, err error) error {
	if err == nil {
		return nil
	}
	//lint:ignore ST1005 the text is Ironic's
	return fmt.Errorf("Redfish exception occurred. Error: %s%w", strings.Replace(text, "NODE", n.UUID, 1), err)
}

// manage calls f, which does a function of the management interface that only Redfish BMCs have, or also IPMI's. It
// refuses the function with the management interface "noop", and where the BMC lacks it. The text is Ironic's for a
// failure of the function over Redfish, see redfishError.
//
// Source: ironic/drivers/modules/redfish/management.py, for the texts.
func (b *Type) manage(n *conductor.Node, function string, overIPMI bool, text string, f func() error) error {
	if err := b.usable(n); err != nil {
		return err
	}
	refuse := func(err error) error {
		text := fmt.Sprintf("Driver %s does not support %s (disabled or not implemented).", n.Driver, function)
		if err != nil {
			text = fmt.Sprintf("The BMC of node %s does not support %s: %v", n.UUID, function, err)
		}
		return &conductor.Error{Reason: conductor.Unsupported, Text: text, Err: err}
	}
	chosen := b.chosen(n, "management")
	if chosen == "noop" || chosen != "redfish" && !overIPMI {
		return refuse(nil)
	}
	err := b.do(n, f)
	switch {
	case errors.Is(err, verify.Unsupported):
		return refuse(err)
	case chosen == "redfish":
		return redfishError(n, text, err)
	default:
		return err
	}
}

// InjectNMI implements [conductor.Management].
func (b *Type) InjectNMI(ctx context.Context, n *conductor.Node) error {
	return b.manage(n, "inject_nmi", true, "Redfish inject NMI failed for node NODE. Error: ", func() error { return b.driver.InjectNMI(ctx, n.UUID) })
}

// SetBootMode implements [conductor.Management]. The mode takes effect at the machine's next reset.
func (b *Type) SetBootMode(ctx context.Context, n *conductor.Node, mode string) error {
	return b.manage(n, "set_boot_mode", false, "Setting boot mode to "+mode+" failed for node NODE. Error: ", func() error {
		return b.driver.SetBootMode(ctx, n.UUID, mode)
	})
}

// SetSecureBoot implements [conductor.Management]. It takes effect at the machine's next boot.
func (b *Type) SetSecureBoot(ctx context.Context, n *conductor.Node, enabled bool) error {
	text := "Failed to set secure boot state on node NODE to " + pyrepr.Of(enabled) + ": "
	return b.manage(n, "set_secure_boot_state", false, text, func() error { return b.driver.SetSecureBoot(ctx, n.UUID, enabled) })
}

// VirtualMedia implements [conductor.Management].
func (b *Type) VirtualMedia(ctx context.Context, n *conductor.Node) ([]conductor.VirtualMedia, error) {
	var slots []bmc.VirtualMedia
	err := b.manage(n, "get_virtual_media", false, "Failed to read the virtual media of node NODE: ", func() (err error) {
		slots, err = b.driver.VirtualMedia(ctx, n.UUID)
		return err
	})
	var media []conductor.VirtualMedia
	for _, s := range slots {
		media = append(media, conductor.VirtualMedia(s))
	}
	return media, err
}

// AttachVirtualMedia implements [conductor.Management].
func (b *Type) AttachVirtualMedia(ctx context.Context, n *conductor.Node, device, image string) error {
	if err := slotFree(b, n, device); err != nil {
		return err
	}
	return b.manage(n, "virtual media", false, "Failed to insert virtual media of node NODE: ", func() error { return b.driver.InsertMedia(ctx, n.UUID, device, image) })
}

// DetachVirtualMedia implements [conductor.Management].
func (b *Type) DetachVirtualMedia(ctx context.Context, n *conductor.Node, devices []string) error {
	if err := slotFree(b, n, devices...); err != nil {
		return err
	}
	return b.manage(n, "virtual media", false, "Failed to eject virtual media of node NODE: ", func() error { return b.driver.EjectMedia(ctx, n.UUID, devices...) })
}

// slotFree refuses a client's change of the CD from which the machine boots or runs.
func slotFree(b *Type, n *conductor.Node, devices ...string) error {
	media, ok := b.boot(n).(mediaBoot)
	if !ok || !slices.Contains(devices, "cdrom") || !media.inUse(n) {
		return nil
	}
	return fmt.Errorf("the machine uses its CD in the provision state %q with the boot interface %s", n.ProvisionState, virtualMedia)
}
