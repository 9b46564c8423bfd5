// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/ironstate/ironstate/states"

// PortUpdate describes a change of a port or a port group by the fields that have rules.
type PortUpdate struct {
	Address      bool // changes the address of a port
	Connectivity bool // changes the connectivity of a port, or the node of a port group
}

// connectivityStates are the states that allow changes of the connectivity of a node's ports.
//
// Source: update_port in ironic/conductor/manager.py.
var connectivityStates = updatedIn(states.Enroll, states.Manageable)

// UpdatePort decides about the change of a port or a port group of a node at version v. The
// error is a [*Refusal] that matches WrongState, Locked or Associated.
//
// Source: patch in ironic/api/controllers/v1/port.py and portgroup.py; update_port and
// update_portgroup in ironic/conductor/manager.py.
func (r Rules) UpdatePort(f NodeFields, u PortUpdate, v states.APIVersion) error {
	const request = "port update"
	switch {
	case !r.table().CanUpdate(f.State, states.NoState, v): // a port has no target
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	case f.Reserved:
		return locked(request)
	case u.Address && !f.Maintenance && (f.State == states.Active || f.Associated):
		return &Refusal{Request: request, Reason: Associated, Field: instanceField}
	case u.Connectivity && !f.Maintenance && !connectivityStates.Has(f.State):
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	default:
		return nil
	}
}

// UpdateVolume decides about the change of a volume connector or target of a node. The error is
// a [*Refusal] that matches Locked, or NotAllowed unless the node is powered off.
//
// Source: update_volume_connector and update_volume_target in ironic/conductor/manager.py.
func (r Rules) UpdateVolume(f NodeFields) error {
	return volume(f, "volume update", f.Power == states.PowerOff)
}

// DeleteVolume decides about the deletion of a volume connector or target of a node. It returns the
// errors of [Rules.UpdateVolume]. Since 2026.2 the power state does not matter in the states
// in which the node's own record may be deleted.
//
// Source: destroy_volume_connector and destroy_volume_target in ironic/conductor/manager.py.
func (r Rules) DeleteVolume(f NodeFields) error {
	anyPower := !r.before(states.Hibiscus) && r.table().DeleteAllowed().Has(f.State)
	return volume(f, "volume deletion", anyPower || f.Power == states.PowerOff)
}

func volume(f NodeFields, request string, allowed bool) error {
	switch {
	case f.Reserved:
		return locked(request)
	case !allowed:
		return &Refusal{Request: request, Reason: NotAllowed, Field: powerField}
	default:
		return nil
	}
}

// Allocate decides whether a node may be allocated. The error is a [*Refusal] that matches
// WrongState, Associated, InMaintenance, NotAllowed for a node without a power state, or Locked:
// such a node can be allocated later.
//
// Source: _candidate_nodes in ironic/conductor/allocations.py.
func (r Rules) Allocate(f NodeFields) error {
	const request = "allocate"
	switch {
	case f.State != states.Available:
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	case f.Associated:
		return &Refusal{Request: request, Reason: Associated, Field: instanceField}
	case f.Maintenance:
		return &Refusal{Request: request, Reason: InMaintenance, Field: maintenanceField}
	case f.Power == states.NoPower:
		return &Refusal{Request: request, Reason: NotAllowed, Field: powerField}
	case f.Reserved:
		return locked(request)
	default:
		return nil
	}
}

// Backfill decides whether an allocation may be created for a node that is deployed. The error
// is a [*Refusal] that matches Locked or WrongState.
//
// Source: backfill_allocation in ironic/conductor/allocations.py.
func (r Rules) Backfill(f NodeFields) error {
	const request = "backfill"
	switch {
	case f.Reserved:
		return locked(request)
	case f.State != states.Active:
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	default:
		return nil
	}
}

// Deallocate decides whether the allocation of a node may be deleted. The error is a [*Refusal]
// that matches Locked or WrongState.
//
// Source: verify_node_for_deallocation in ironic/conductor/allocations.py.
func (r Rules) Deallocate(f NodeFields) error {
	const request = "deallocate"
	switch {
	case f.Reserved:
		return locked(request)
	case f.Maintenance:
		return nil
	case f.State == states.Active, f.Target != states.NoState && !r.table().UpdateAllowed().Has(f.State):
		return &Refusal{Request: request, Reason: WrongState, Field: stateField}
	default:
		return nil
	}
}
