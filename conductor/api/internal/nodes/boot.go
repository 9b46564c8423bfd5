// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"slices"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

// bootModes are the boot modes. Source: ironic/common/boot_modes.py.
var bootModes = []string{"bios", "uefi"}

// setBootMode answers PUT /v1/nodes/NODE/states/boot_mode. A failure is the node's last error.
func setBootMode(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target")
	target := a.Need("target").Text("target")
	var wrong error
	if !slices.Contains(bootModes, target) {
		wrong = fault.Invalid("Invalid boot mode %s requested for node. Allowed boot modes are: bios, uefi", fault.Show(a.Values["target"]))
	}
	return setBoot(r, a, wrong, func(n *node) error { return r.Conductor.Management(n.UUID).SetBootMode(r.Context(), target) })
}

// setSecureBoot answers PUT /v1/nodes/NODE/states/secure_boot. A failure is the node's last error.
func setSecureBoot(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "target")
	target := a.Need("target").Boolean("target")
	var wrong error
	if target == nil {
		wrong = fault.Invalid("Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False) ")
	}
	return setBoot(r, a, wrong, func(n *node) error { return r.Conductor.Management(n.UUID).SetSecureBoot(r.Context(), *target) })
}

// setBoot answers a request to change the boot mode or secure boot. wrong is the fault of the target, which Ironic
// checks after the node and the version.
func setBoot(r *rest.Request, a *rest.Args, wrong error, set func(*node) error) (rest.Answer, error) {
	n, err := r.PathNode(a)
	switch {
	case err != nil:
		return rest.Answer{}, err
	case r.Version < since.SetBootMode:
		return rest.Answer{}, fault.NotFound("This endpoint is supported starting with the API version %v", since.SetBootMode)
	case wrong != nil:
		return rest.Answer{}, wrong
	case errors.Is(r.Conductor.Rules().Boot(n.Fields()), conductor.WrongState):
		return rest.Answer{}, fault.Conflict("Node is in %s state. Since node is transitioning, the boot mode will not be set "+
			"as this may interfere with ongoing changes and result in erroneous modification. Try again later.", n.ProvisionState)
	}
	return accepted(r), set(n)
}

// showBootDevice answers GET /v1/nodes/NODE/management/boot_device.
func showBootDevice(r *rest.Request, n *node) (rest.Answer, error) {
	device, persistent, err := r.Conductor.BootDevice(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("boot_device").TextOrNull(device)
		w.Key("persistent").Boolean(persistent)
	}), nil
}

// setBootDevice answers PUT /v1/nodes/NODE/management/boot_device.
func setBootDevice(r *rest.Request) (rest.Answer, error) {
	a := r.BodyArgs(rest.MaxBody, "boot_device", "persistent")
	device, persistent := a.Need("boot_device").Word("boot_device"), a.Boolean("persistent")
	n, err := r.PathNode(a)
	if err != nil {
		return rest.Answer{}, err
	}
	err = r.Conductor.SetBootDevice(r.Context(), n.UUID, device, persistent != nil && *persistent)
	return rest.NoContent, hardwareFault(err)
}

// listBootDevices answers GET /v1/nodes/NODE/management/boot_device/supported.
func listBootDevices(r *rest.Request, n *node) (rest.Answer, error) {
	devices, err := r.Conductor.BootDevices(r.Context(), n.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("supported_boot_devices", func(w *wire.Writer) { w.Texts(devices) }), nil
}
