// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// NodeFields are the fields of a node's record, other than its state, that decide whether
// Ironic accepts a request. With the zero value nothing is refused. NodeFields are a value
// and may be shared freely. Package admission has the rules.
type NodeFields struct {
	// Maintenance is "maintenance": the node is not deployed, rebuilt, rescued,
	// unrescued, manually cleaned or serviced, and a failed service is not aborted.
	// The other requests are accepted, and its record can be deleted in any state.
	Maintenance bool `json:"maintenance"`
	// Fault is "fault": the reason if Ironic itself has set Maintenance, otherwise
	// empty. A "power failure" ends by itself once Ironic can read the power state
	// again.
	Fault string `json:"fault"`
	// Protected is "protected": the node is not torn down, rebuilt or deleted.
	Protected bool `json:"protected"`
	// Retired is "retired": the node is not provided, and its automated cleaning
	// ends in manageable.
	Retired bool `json:"retired"`
	// Associated says that "instance_uuid" is not empty: the node's record is not
	// deleted, unless it is in maintenance.
	Associated bool `json:"associated"`
	// Reserved says that "reservation" is not empty: the conductor is at work on
	// the node and answers 409 (conflict).
	Reserved bool `json:"reserved"`
	// NoAutomatedClean says that automated cleaning is switched off, by the node's
	// "automated_clean" or, if that is null, by the operator's configuration.
	// Provide and a tear-down then lead to available without cleaning, after a
	// tear-down even if the node is retired.
	NoAutomatedClean bool `json:"no_automated_clean"`
	// NoProvisioningInMaintenance says that the operator has set
	// [conductor]allow_provisioning_in_maintenance, which the API does not show, to
	// False: a node in maintenance is not provided, and its automated cleaning after a
	// tear-down fails as it begins.
	NoProvisioningInMaintenance bool `json:"no_provisioning_in_maintenance"`
}

// powerFailure is the fault of a node whose power state Ironic cannot read.
const powerFailure = "power failure"

// Fields of the record, as [Step.Field] names them.
const (
	faultField       = "fault"
	maintenanceField = "maintenance"
	reservationField = "reservation"
)

// admission returns the rules and the fields of package admission for a node in a state.
func (x *index) admission(s states.State, f *NodeFields) (admission.Rules, admission.NodeFields) {
	rules := admission.Rules{Table: x.table, NoProvisioningInMaintenance: f.NoProvisioningInMaintenance}
	return rules, admission.NodeFields{
		State: s, Maintenance: f.Maintenance, Protected: f.Protected, Retired: f.Retired, Associated: f.Associated,
	}
}

// cleaningFails reports whether the automated cleaning after a tear-down fails as it begins.
func (x *index) cleaningFails(f *NodeFields) bool {
	rules, fields := x.admission(states.Cleaning, f)
	return !f.NoAutomatedClean && rules.Work(fields) != nil
}

// obstacle returns the field for which Ironic refuses a request for an event, empty if
// it accepts the request. A field that stays comes before a reservation, which ends.
func (q *query) obstacle(e states.Event) string {
	rules, fields := q.admission(q.state, &q.desired.Fields)
	refusal, refused := rules.Start(fields, e).(*admission.Refusal)
	switch {
	case refused:
		return refusal.Field
	case q.desired.Fields.Reserved:
		return reservationField
	default:
		return ""
	}
}

// keepsRecord returns the reason and the field for which Ironic keeps the record of a node in a state that permits
// deletion. Both are empty if Ironic deletes the record, or if the goal is not [Deletable]. Protection is reported
// before an instance, because a tear-down removes the instance.
func (q *query) keepsRecord() (admission.Reason, string) {
	if !q.row.deletes {
		return 0, ""
	}
	rules, fields := q.admission(q.state, &q.desired.Fields)
	alone := fields
	alone.Associated = false
	refusal, refused := rules.Delete(alone).(*admission.Refusal)
	if !refused {
		refusal, refused = rules.Delete(fields).(*admission.Refusal)
	}
	if !refused || refusal.Reason == admission.WrongState {
		return 0, ""
	}
	return refusal.Reason, refusal.Field
}
