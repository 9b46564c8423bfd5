// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/ironstate/ironstate/states"

// Delete decides about the deletion of a node's record: DELETE /v1/nodes/NODE. The error is a
// [*Refusal] that matches Locked, Associated, IsProtected or WrongState.
//
// Source: destroy_node in ironic/conductor/manager.py.
func (r Rules) Delete(f NodeFields) error {
	refusal, refused := r.delete(f)
	if refused {
		return onHeap(refusal)
	}
	return nil
}

func (r Rules) delete(f NodeFields) (refusal Refusal, refused bool) {
	const request = "deletion"
	switch {
	case f.Reserved:
		return *locked(request), true
	case f.Associated && !f.Maintenance:
		return Refusal{Request: request, Reason: Associated, Field: instanceField}, true
	case f.Protected:
		return Refusal{Request: request, Reason: IsProtected, Field: protectedField}, true
	case f.Maintenance || r.DeleteAllowed().Has(f.State):
		return Refusal{}, false
	default:
		return Refusal{Request: request, Reason: WrongState, Field: stateField}, true
	}
}

// DeleteAllowed returns the states in which the record of a node that is not in maintenance may
// be deleted.
func (r Rules) DeleteAllowed() states.Set {
	allowed := r.table().DeleteAllowed()
	if !r.KeepAvailable || r.before(states.Stein) {
		allowed = allowed.Union(states.SetOf(states.Available))
	}
	return allowed
}

// Patch decides whether the API accepts a patch of a node's record at version v: PATCH
// /v1/nodes/NODE. onlyRemovesInstance says that the patch removes instance_uuid and does nothing
// else. The error is a [*Refusal] that matches WrongState. [Rules.Update] has the conductor's
// rules on the fields that change.
//
// Source: patch in ironic/api/controllers/v1/node.py.
func (r Rules) Patch(f NodeFields, onlyRemovesInstance bool, v states.APIVersion) error {
	if f.Maintenance && onlyRemovesInstance || r.table().CanUpdate(f.State, f.Target, v) {
		return nil
	}
	return &Refusal{Request: "patch", Reason: WrongState, Field: stateField}
}

// Update describes a change of a node's record by the fields that have rules.
type Update struct {
	Protects         bool   // sets protected
	Retires          bool   // sets retired
	ProtectedReason  bool   // sets protected_reason and leaves the node unprotected
	RetiredReason    bool   // sets retired_reason and leaves the node unretired
	Interface        string // the first kind of hardware interface that it changes
	Unfit            error  // the changed driver or interfaces do not fit together
	Maintenance      bool   // maintenance after the change
	ReplacesInstance bool   // sets instance_uuid to another value
	RemovesInstance  bool   // removes instance_uuid
	ResourceClass    bool   // changes a resource class that is set
}

// InterfaceStates are the states that allow changes of the node's hardware interfaces and
// resource class, and to remove an allocated instance.
//
// Source: update_node in ironic/conductor/manager.py.
func InterfaceStates() states.Set { return interfaceStates }

var interfaceStates = updatedIn(states.Enroll, states.Manageable, states.Available)

// Update decides whether the conductor makes a change of a node's record. The fields are those
// before the change. The error is a [*Refusal] that matches WrongState, Invalid, Locked or
// Associated.
//
// Source: update_node in ironic/conductor/manager.py.
func (r Rules) Update(f NodeFields, u Update) error {
	const request = "update"
	wide := interfaceStates.Has(f.State)
	switch {
	case u.Protects && f.State != states.Active && f.State != states.Rescue:
		return &Refusal{Request: request, Reason: WrongState, Field: protectedField}
	case u.ProtectedReason:
		return &Refusal{Request: request, Reason: Invalid, Field: "protected_reason"}
	case u.Retires && f.State == states.Available:
		return &Refusal{Request: request, Reason: WrongState, Field: retiredField}
	case u.RetiredReason:
		return &Refusal{Request: request, Reason: Invalid, Field: "retired_reason"}
	case u.Interface != "" && !wide && !u.Maintenance:
		return &Refusal{Request: request, Reason: WrongState, Field: u.Interface + "_interface"}
	case u.Unfit != nil:
		return &Refusal{Request: request, Reason: Invalid, Field: "driver", Err: u.Unfit}
	case f.Reserved:
		return locked(request)
	case f.Associated && u.ReplacesInstance:
		return &Refusal{Request: request, Reason: Associated, Field: instanceField}
	case u.ResourceClass && !wide:
		return &Refusal{Request: request, Reason: WrongState, Field: "resource_class"}
	case f.Allocated && u.RemovesInstance && !f.Maintenance && !wide:
		return &Refusal{Request: request, Reason: WrongState, Field: allocationField}
	default:
		return nil
	}
}
