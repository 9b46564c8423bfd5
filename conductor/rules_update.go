// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"slices"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
)

// checkUpdate applies the conductor's rules to a client's change.
func (b *rulebook) checkUpdate(before, n *Node) error {
	if err := checkOwn(before, n); err != nil {
		return err
	}
	n.Revision, n.CreatedAt = before.Revision, before.CreatedAt
	if before.Maintenance && !n.Maintenance {
		n.MaintenanceReason, n.Fault = "", ""
		n.SetEmpty("maintenance_reason", false)
	}
	err := b.admission().Update(before.Fields(), admission.Update{
		Protects:         n.Protected && !before.Protected,
		Retires:          n.Retired && !before.Retired,
		ProtectedReason:  n.ProtectedReason != "" && !n.Protected && n.ProtectedReason != before.ProtectedReason,
		RetiredReason:    n.RetiredReason != "" && !n.Retired && n.RetiredReason != before.RetiredReason,
		Interface:        b.changedInterface(before, n),
		Unfit:            b.checkInterfaces(before, n),
		Maintenance:      n.Maintenance,
		ReplacesInstance: n.InstanceUUID != "" && n.InstanceUUID != before.InstanceUUID,
		RemovesInstance:  n.InstanceUUID == "" && before.InstanceUUID != "",
		ResourceClass:    before.ResourceClass != "" && n.ResourceClass != before.ResourceClass,
	})
	var r *admission.Refusal
	switch {
	case errors.As(err, &r) && (r.Reason == Associated || r.Field == "resource_class" || r.Field == "allocation_uuid"):
		return Held(b.refused(before, err)) // Ironic checks these after it has locked the node
	case err != nil:
		return b.refused(before, err)
	}
	if before.Protected && !n.Protected {
		n.ProtectedReason = ""
		n.SetEmpty("protected_reason", false)
	}
	if before.Retired && !n.Retired {
		n.RetiredReason = ""
		n.SetEmpty("retired_reason", false)
	}
	return Held(checkProperties(n, b.config.Table.Series()))
}

// changedInterface returns the first kind of hardware interface that a change of a node sets to
// another value, or "". Ironic's order changes with each of its processes.
func (b *rulebook) changedInterface(before, n *Node) string {
	old := b.types.description(before)
	for _, kind := range interfaceKinds {
		name, named := n.Interfaces[kind]
		if named && name != old.Interface(before, kind) || !named && before.Interfaces[kind] != "" && n.Driver == before.Driver {
			return kind
		}
	}
	return ""
}

// checkInterfaces refuses unknown hardware types, and hardware interfaces that the hardware type does
// not support.
//
// Source: update_node in ironic/conductor/manager.py, check_and_update_node_interfaces in
// ironic/common/driver_factory.py.
func (b *rulebook) checkInterfaces(before, n *Node) error {
	newDriver := n.Driver != before.Driver
	available, ok := (*b.types.all.Load())[n.Driver]
	switch {
	case !ok && newDriver:
		return noHardware(n)
	case !ok:
		return nil
	}
	for _, kind := range interfaceKinds {
		name, named := n.Interfaces[kind]
		old, was := before.Interfaces[kind]
		names := slices.Concat(available.Interfaces[kind], available.Unlisted[kind])
		if named && (newDriver || !was || old != name) && !slices.Contains(names, name) {
			return refuse(Invalid, "Could not find the following interface in the 'ironic.hardware.interfaces.%s' entrypoint: %s. "+
				"Valid interfaces are %s.", kind, name, pyrepr.List(slices.Sorted(slices.Values(names))))
		}
	}
	return nil
}
