// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// request applies a client's request that was accepted to a node. ramdisk is what [engine.bootsRamdisk] has returned,
// for a request that ends the node's work.
func (b *rulebook) request(n *Node, event states.Event, r *ProvisionRequest, ramdisk ramdiskUse, at time.Time) error {
	kind := begunBy(b.config.Table, event)
	if kind.request.deploys {
		b.noteDeployment(n, event, r)
	}
	if event == states.EventAbort && b.abortsLater(n) {
		kindOf(n.ProvisionState).ensureSteps(n).AbortAfter = true
		return nil
	}
	moved, err := n.machine().Request(b.config.Table, r.Target, r.Version)
	if err != nil {
		return err
	}
	if runsIn(moved.State) {
		n.CleanUp = nil // the new work boots the machine as it needs
	}
	if event == states.EventManage || event == states.EventAbort {
		moved.LastError += b.endByRequest(n, event, moved.LastError != "", ramdisk)
	}
	from := n.ProvisionState
	if on, _ := b.config.fastTracks(n); event != states.EventUnhold && !(on && agentStays(from, moved.State)) {
		n.forgetAgent()
	}
	b.move(n, event, moved, at)
	dropRequests(n, event, from)
	return kind.remembers(n, r)
}

// endByRequest ends the steps of a node's work that a client ends, and notes what has to be done on the machine. It
// returns what is added to the last error of an abort, if there is one: the step at work. Ironic names only the steps
// that clients request. ramdisk is what [engine.bootsRamdisk] has returned.
func (b *rulebook) endByRequest(n *Node, event states.Event, failed bool, ramdisk ramdiskUse) (added string) {
	kind := kindOf(n.ProvisionState)
	if kind.steps.in == nil {
		return ""
	}
	n.CleanUp = b.cleanUp(n, ramdisk, true)
	if step := n.Step().String(); step != "" && failed && event == states.EventAbort && kind.steps.requested != nil {
		added = afterStep(step)
	}
	kind.forget(n)
	return added
}

// dropRequests removes what the requests for work have stored, after a client has deleted the node or aborted its work
// in a state.
func dropRequests(n *Node, event states.Event, from states.State) {
	if event != states.EventDelete && event != states.EventAbort {
		return
	}
	for i := range works {
		if kind := &works[i]; kind.request.dropIn.Has(from) {
			kind.request.drop(n)
		}
	}
	if kind := &works[from.Work()]; event == states.EventAbort && from == kind.work.Failed() {
		kind.forget(n)
	}
}

// noteDeployment records what a deployment, or a rebuild, has to know of its request before it is checked.
func (b *rulebook) noteDeployment(n *Node, event states.Event, r *ProvisionRequest) {
	if r.ConfigDrive != nil {
		setKey(&n.InstanceInfo, "configdrive", r.ConfigDrive)
	}
	b.noteInstance(n, event)
}

// noteInstance records what a deployment, or a rebuild, has to know of the instance before it is checked: the type of
// its image and, since 2024.2, for a deployment of a node without a lessee the project of its instance as the lessee,
// until the tear-down.
//
// Source: start_deploy and apply_automatic_lessee in ironic/conductor/deployments.py, with the default of
// automatic_lessee_source.
func (b *rulebook) noteInstance(n *Node, event states.Event) {
	project, _ := n.InstanceInfo["project_id"].(string)
	if event == states.EventDeploy && b.config.Table.Series() >= states.Dalmatian && project != "" && n.Lessee == "" {
		n.Lessee = project
		setKey(&n.DriverInternalInfo, automaticLessee, true)
	}
	n.noteImageType()
}

// automaticLessee is the key of driver_internal_info that says that a tear-down removes the lessee.
const automaticLessee = "automatic_lessee"

// keepingInstance returns the error of a deployment that was refused and notes the instance nevertheless, as Ironic
// does before it checks the rest of the node.
//
// Source: start_deploy in ironic/conductor/deployments.py.
func (b *rulebook) keepingInstance(err error, event states.Event) error {
	var held *refusedUnderLock
	if errors.As(err, &held) && begunBy(b.config.Table, event).request.deploys {
		held.note = func(n *Node) { b.noteInstance(n, event) }
	}
	return err
}

// abortsLater reports whether an abort takes effect after the waiting step, which cannot be aborted. Before 2025.2 a
// service was aborted in any step.
//
// Source: _do_abort in ironic/conductor/manager.py.
func (b *rulebook) abortsLater(n *Node) bool {
	kind := kindOf(n.ProvisionState)
	if kind.agent.word == "" || !kind.waits(n) || b.config.Table.Series() < kind.abort.afterStepSince {
		return false
	}
	current := kind.of(n).Current
	return current != nil && !current.Abortable
}

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
