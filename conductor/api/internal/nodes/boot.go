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
var setBootMode = checks{
	arguments(need(text("target"))), nodeExists, bootModeInVersion, bootModeKnown, bootMayChange,
}.then(func(q *request) (rest.Answer, error) {
	return accepted(q.Request), q.Conductor.Management(q.node.UUID).SetBootMode(q.Context(), q.args.Text("target"))
})

// setSecureBoot answers PUT /v1/nodes/NODE/states/secure_boot. A failure is the node's last error.
var setSecureBoot = checks{
	arguments(need(boolean("target"))), nodeExists, bootModeInVersion, secureBootGiven, bootMayChange,
}.then(func(q *request) (rest.Answer, error) {
	return accepted(q.Request), q.Conductor.Management(q.node.UUID).SetSecureBoot(q.Context(), *q.args.Boolean("target"))
})

// bootModeInVersion refuses a version in which the boot mode and secure boot cannot be set.
var bootModeInVersion = from(since.SetBootMode,
	fault.NotFound("This endpoint is supported starting with the API version %v", since.SetBootMode))

// bootModeKnown refuses an unknown boot mode.
func bootModeKnown(q *request) error {
	if target := q.args.Values["target"]; !slices.Contains(bootModes, q.args.Text("target")) {
		return fault.Invalid("Invalid boot mode %s requested for node. Allowed boot modes are: bios, uefi", fault.Show(target))
	}
	return nil
}

// secureBootGiven refuses null.
func secureBootGiven(q *request) error {
	if !q.args.Has("target") {
		return fault.Invalid("Invalid secure_boot None requested for node. Allowed secure_boot states are: True, False) ")
	}
	return nil
}

// bootMayChange refuses a change of the boot mode or secure boot in a state that does not allow it.
func bootMayChange(q *request) error {
	if errors.Is(q.Conductor.Rules().Boot(q.node.Fields()), conductor.WrongState) {
		return fault.Conflict("Node is in %s state. Since node is transitioning, the boot mode will not be set "+
			"as this may interfere with ongoing changes and result in erroneous modification. Try again later.", q.node.ProvisionState)
	}
	return nil
}

// showBootDevice answers GET /v1/nodes/NODE/management/boot_device.
var showBootDevice = checks{arguments(), nodeExists}.then(func(q *request) (rest.Answer, error) {
	device, persistent, err := q.Conductor.BootDevice(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.Object(func(w *wire.Writer) {
		w.Key("boot_device").TextOrNull(device)
		w.Key("persistent").Boolean(persistent)
	}), nil
})

// setBootDevice answers PUT /v1/nodes/NODE/management/boot_device.
var setBootDevice = checks{
	arguments(need(word("boot_device")), boolean("persistent")), nodeExists,
}.then(func(q *request) (rest.Answer, error) {
	persistent := q.args.Boolean("persistent")
	err := q.Conductor.SetBootDevice(q.Context(), q.node.UUID, q.args.Word("boot_device"), persistent != nil && *persistent)
	return rest.NoContent, hardwareFault(err)
})

// listBootDevices answers GET /v1/nodes/NODE/management/boot_device/supported.
var listBootDevices = checks{arguments(), nodeExists}.then(func(q *request) (rest.Answer, error) {
	devices, err := q.Conductor.BootDevices(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("supported_boot_devices", func(w *wire.Writer) { w.Texts(devices) }), nil
})
