package plan

import "github.com/ironstate/ironstate/states"

// Facts are the fields of a node's record, other than its state, that decide whether
// Ironic accepts a request. With the zero value nothing is refused. Facts are a value
// and may be shared freely.
//
// Source: provision in ironic/api/controllers/v1/node.py; the methods that provision
// calls and destroy_node in ironic/conductor/manager.py; deployments.py, cleaning.py
// and utils.py beside it.
type Facts struct {
	// Maintenance is "maintenance": the node is not deployed, rebuilt, rescued,
	// unrescued, manually cleaned or serviced, and a failed service is not aborted.
	// The other requests are accepted, and its record can be deleted in any state.
	// With [conductor]allow_provisioning_in_maintenance, which the API does not show,
	// an operator can make Ironic refuse provide too.
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
}

// powerFailure is the fault of a node whose power state Ironic cannot read.
const powerFailure = "power failure"

// The fields for which Ironic refuses requests, as [Step.Field] names them.
const (
	maintenanceField = "maintenance"
	faultField       = "fault"
	protectedField   = "protected"
	retiredField     = "retired"
	reservationField = "reservation"
	instanceField    = "instance_uuid"
)

// obstacle returns the field for which Ironic refuses a request for an event in a
// state, empty if it accepts the request.
func (f *Facts) obstacle(from states.State, e states.Event) string {
	switch {
	case f.Maintenance && f.Fault == powerFailure && refusedInMaintenance(from, e):
		return faultField
	case f.Maintenance && refusedInMaintenance(from, e):
		return maintenanceField
	case f.Protected && (e == states.EventDelete || e == states.EventRebuild):
		return protectedField
	case f.Retired && e == states.EventProvide:
		return retiredField
	case f.Reserved:
		return reservationField
	default:
		return ""
	}
}

// refusedInMaintenance reports whether Ironic refuses a request while the node is
// in maintenance.
func refusedInMaintenance(from states.State, e states.Event) bool {
	switch e {
	case states.EventDeploy, states.EventRebuild, states.EventRescue, states.EventUnrescue, states.EventClean, states.EventService:
		return true
	case states.EventAbort:
		return from == states.ServiceFail
	default:
		return false
	}
}

// keepsRecord returns the field for which Ironic refuses to delete the record of a
// node in a state that permits deletion, empty if it deletes the record.
func (f *Facts) keepsRecord() string {
	switch {
	case f.Protected:
		return protectedField
	case f.Associated && !f.Maintenance:
		return instanceField
	default:
		return ""
	}
}

// applyFacts corrects an answer that depends on the state alone.
func (q *query) applyFacts() {
	facts := &q.wish.Facts
	if q.wish.Goal == Deletable {
		switch keeps := facts.keepsRecord(); {
		case keeps == protectedField && q.step.Action != Wait, keeps == instanceField && q.step.Action == Done:
			q.replace(Blocked, Refused, keeps)
			return
		case facts.Maintenance && keeps == "":
			q.replace(Done, noReason, "")
			return
		}
	}
	switch {
	case q.step.Action == Send:
		if field := facts.obstacle(q.state, q.route.event); field != "" {
			q.hold(field)
		}
	case q.step.Action == Wait && q.state == states.Deleting && facts.Retired && !facts.NoAutomatedClean:
		manageable := q.byAPI[q.wish.Version].route(q.wish.Goal, q.wish.Policy.MayDestroy, position(states.Manageable))
		if manageable.left != noRoute {
			q.step.Until, q.step.Left = states.Manageable, int(manageable.left)
		}
	}
}

// hold keeps a request back. The action is Wait if Ironic itself changes the field,
// otherwise Blocked.
func (q *query) hold(field string) {
	verb, with := q.step.Verb, q.step.With
	if field == faultField || field == reservationField {
		q.replace(Wait, Refused, field)
	} else {
		q.replace(Blocked, Refused, field)
	}
	q.step.Verb, q.step.With = verb, with
}

// replace replaces the answer by one with unchanged progress.
func (q *query) replace(action Action, reason Reason, field string) {
	*q.step = Step{Action: action, Reason: reason, Field: field, Version: q.wish.Version, Progress: q.wish.Progress}
}
