// SPDX-License-Identifier: Apache-2.0

package states

// Rules of Ironic's API and of Nova's Ironic driver that depend on a node's state.

// CanUpdate reports whether the API accepts a PATCH of a node in state s with a
// target provision state (NoState for none), at API version v. Otherwise Ironic
// answers 409.
//
// A node with a target is updated only in the states of [Table.UpdateAllowed];
// from version 1.39 on it is not updated in Inspecting. Source: patch in
// ironic/api/controllers/v1/node.py.
func (t *Table) CanUpdate(s, target State, v APIVersion) bool {
	if target != NoState && !t.UpdateAllowed().Has(s) {
		return false
	}
	return s != Inspecting || v < minInspectWait
}

// CanSchedule reports whether Nova places an instance on a node: the node is
// available (null until Kilo, and below API version 1.2), not in maintenance and
// without an instance, and its power state is known and not PowerError. Source: the
// Ironic driver of Nova, nova/virt/ironic/driver.py.
func CanSchedule(s State, power Power, maintenance bool, instanceUUID string) bool {
	free := s == Available || s == NoState
	known := power != NoPower && power != PowerError
	return free && known && !maintenance && instanceUUID == ""
}

// Requires returns the field that a request for the event must carry beside its
// target: "clean_steps", "service_steps" or "rescue_password" (which must not be
// blank); empty where the target is enough. Source: _do_provision_action in
// ironic/api/controllers/v1/node.py.
func (e Event) Requires() string {
	switch e {
	case EventClean:
		return "clean_steps"
	case EventService:
		return "service_steps"
	case EventRescue:
		return "rescue_password"
	default:
		return ""
	}
}
