// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/ironstate/ironstate/states"

// Power decides about a request for a power state: PUT /v1/nodes/NODE/states/power. The error is
// a [*Refusal] that matches Invalid for a target that cannot be requested, NotAllowed while the node is
// cleaned, PowerOffDisabled, Locked or, for an invalid power interface, Unsuitable.
//
// Source: power in ironic/api/controllers/v1/node.py, change_node_power_state in
// ironic/conductor/manager.py.
func (r Rules) Power(f NodeFields, target states.Power) error {
	switch {
	case target.Target() == states.NoPower:
		return &Refusal{Request: target.String(), Reason: Invalid, Field: "target"}
	case refusesPower(f.State):
		return &Refusal{Request: target.String(), Reason: NotAllowed, Field: stateField}
	case f.DisablePowerOff && (target == states.PowerOff || target == states.PowerSoftOff):
		return &Refusal{Request: target.String(), Reason: PowerOffDisabled, Field: powerOffField}
	case f.Reserved:
		return locked(target.String())
	case f.Problems["power"] != nil:
		return &Refusal{Request: target.String(), Reason: Unsuitable, Field: "power_interface", Err: f.Problems["power"]}
	default:
		return nil
	}
}

// Boot decides about a request for a boot mode or for secure boot: PUT
// /v1/nodes/NODE/states/boot_mode. The error is a [*Refusal] that matches WrongState while the
// node is in transition, or Locked.
//
// Source: boot_mode in ironic/api/controllers/v1/node.py, change_node_boot_mode in
// ironic/conductor/manager.py.
func (r Rules) Boot(f NodeFields) error {
	const request = "change of the boot mode"
	switch {
	case r.table().Unstable().Has(f.State):
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	case f.Reserved:
		return locked(request)
	default:
		return nil
	}
}

// Lock decides about the requests that need the node's lock alone: the boot device, inject_nmi, a
// vendor passthru, traits, a new port. The error is a [*Refusal] that matches Locked.
func (r Rules) Lock(f NodeFields, request string) error {
	if f.Reserved {
		return locked(request)
	}
	return nil
}
