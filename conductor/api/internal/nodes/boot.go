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

var (
	bootMode   = need(word("target"))
	secureBoot = need(boolean("target"))

	bootDevice = need(word("boot_device"))
	persistent = boolean("persistent")
)

// setBootMode answers PUT /v1/nodes/NODE/states/boot_mode. A failure is the node's last error.
var setBootMode = checks{
	arguments(bootMode), nodeExists, bootModeInVersion, bootModeKnown, bootMayChange,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return accepted(q.Request), q.Conductor.Management(q.node.UUID).SetBootMode(q.Context(), bootMode.of(q))
})

// setSecureBoot answers PUT /v1/nodes/NODE/states/secure_boot. A failure is the node's last error.
var setSecureBoot = checks{
	arguments(secureBoot), nodeExists, bootModeInVersion, secureBootGiven, bootMayChange,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	return accepted(q.Request), q.Conductor.Management(q.node.UUID).SetSecureBoot(q.Context(), *secureBoot.of(q))
})

// bootModeInVersion refuses a version in which the boot mode and secure boot cannot be set.
var bootModeInVersion = from(since.SetBootMode,
	fault.NotFound("This endpoint is supported starting with the API version %v", since.SetBootMode))

// bootModeKnown refuses an unknown boot mode.
func bootModeKnown(q *request) error {
	if target := bootMode.of(q); !slices.Contains(bootModes, target) {
		return fault.Invalid("Invalid boot mode %s requested for node. Allowed boot modes are: bios, uefi", fault.Show(target))
	}
	return nil
}

// secureBootGiven refuses null.
func secureBootGiven(q *request) error {
	if secureBoot.of(q) == nil {
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
var showBootDevice = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
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
	arguments(bootDevice, persistent), nodeExists,
}.Then(newRequest, func(q *request) (rest.Answer, error) {
	keep := persistent.of(q)
	err := q.Conductor.SetBootDevice(q.Context(), q.node.UUID, bootDevice.of(q), keep != nil && *keep)
	return rest.NoContent, hardwareFault(err)
})

// listBootDevices answers GET /v1/nodes/NODE/management/boot_device/supported.
var listBootDevices = checks{arguments(), nodeExists}.Then(newRequest, func(q *request) (rest.Answer, error) {
	devices, err := q.Conductor.BootDevices(q.Context(), q.node.UUID)
	if err != nil {
		return rest.Answer{}, hardwareFault(err)
	}
	return rest.ObjectWith("supported_boot_devices", func(w *wire.Writer) { w.Texts(devices) }), nil
})
