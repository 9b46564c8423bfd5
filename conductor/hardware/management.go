// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// ifManagement calls f with the management interface of a node, if it is an A. It refuses the function if it is not,
// and where the BMC lacks it.
func ifManagement[A any](n Node, function string, f func(A) error) error {
	by, ok := n.Chosen.Management.(A)
	if !ok {
		return noFunction(n.Node, function)
	}
	err := f(by)
	if errors.Is(err, verify.Unsupported) {
		return &conductor.Error{Reason: conductor.Unsupported, Err: err,
			Text: fmt.Sprintf("The BMC of node %s does not support %s: %v", n.UUID, function, err)}
	}
	return err
}

// InjectNMI implements [conductor.Management].
func (t *Type) InjectNMI(ctx context.Context, n *conductor.Node) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	return ifManagement(node, "inject_nmi", func(by NMIInjector) error { return by.InjectNMI(ctx, n) })
}

// SetBootMode implements [conductor.Management]. By Redfish the machine is rebooted
// if the mode takes effect at its next reset only, except in series before 2023.2.
func (t *Type) SetBootMode(ctx context.Context, n *conductor.Node, mode string) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	return setBootMode(ctx, node, mode)
}

func setBootMode(ctx context.Context, n Node, mode string) error {
	return ifManagement(n, "set_boot_mode", func(by BootModeSetter) error { return by.SetBootMode(ctx, n.Node, mode) })
}

// SetSecureBoot implements [conductor.Management]. By Redfish the machine is rebooted if
// it takes effect at its next boot only, except in series before 2023.2.
func (t *Type) SetSecureBoot(ctx context.Context, n *conductor.Node, enabled bool) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	return setSecureBoot(ctx, node, enabled)
}

func setSecureBoot(ctx context.Context, n Node, enabled bool) error {
	return ifManagement(n, "set_secure_boot_state", func(by BootModeSetter) error { return by.SetSecureBoot(ctx, n.Node, enabled) })
}

// VirtualMedia implements [conductor.Management].
func (t *Type) VirtualMedia(ctx context.Context, n *conductor.Node) (media []conductor.VirtualMedia, err error) {
	node, err := t.node(n)
	if err != nil {
		return nil, err
	}
	err = ifManagement(node, "get_virtual_media", func(by MediaManager) (err error) {
		media, err = by.VirtualMedia(ctx, n)
		return err
	})
	return media, err
}

// AttachVirtualMedia implements [conductor.Management].
func (t *Type) AttachVirtualMedia(ctx context.Context, n *conductor.Node, device, image string) error {
	return t.changeMedia(ctx, n, []string{device}, func(by MediaManager) error { return by.AttachVirtualMedia(ctx, n, device, image) })
}

// DetachVirtualMedia implements [conductor.Management].
func (t *Type) DetachVirtualMedia(ctx context.Context, n *conductor.Node, devices []string) error {
	return t.changeMedia(ctx, n, devices, func(by MediaManager) error {
		if len(devices) == 0 {
			return nil
		}
		return by.DetachVirtualMedia(ctx, n, devices)
	})
}

// changeMedia calls f, a client's change of the virtual media for devices, with the management interface of a node. It
// refuses a change of the slot from which the machine boots or runs.
func (t *Type) changeMedia(ctx context.Context, n *conductor.Node, devices []string, f func(MediaManager) error) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	return ifManagement(node, "virtual media", func(by MediaManager) error {
		if boot, ok := node.Chosen.Boot.(MediaUser); ok && boot.UsesMedia(node) {
			if err := checkCD(ctx, node, by, devices); err != nil {
				return err
			}
		}
		return f(by)
	})
}

// checkCD returns an error if a change of devices would change the machine's CD: slots may take media of several
// kinds, and a slot without kinds takes all.
func checkCD(ctx context.Context, n Node, by MediaManager, devices []string) error {
	changed := slices.Contains(devices, "cdrom")
	if !changed {
		slots, err := by.VirtualMedia(ctx, n.Node)
		if err != nil {
			return fmt.Errorf("read which slot has the machine's CD: %w", err)
		}
		changed = slices.ContainsFunc(slots, func(s conductor.VirtualMedia) bool {
			return s.Inserted && bmc.VirtualMedia(s).Fits("cdrom") && slices.ContainsFunc(devices, bmc.VirtualMedia(s).Fits)
		})
	}
	if changed {
		return fmt.Errorf("the machine uses its CD in the provision state %q with the boot interface %s", n.ProvisionState, n.Chosen.Boot.Name())
	}
	return nil
}
