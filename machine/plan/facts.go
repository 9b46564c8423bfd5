package plan

import "github.com/ironstate/ironstate/states"

// Facts is what Ironic looks at beside a node's state when it takes or refuses a
// request, in the terms of the node's record. The zero value: nothing stands in
// the way. It is a value and may be shared freely. Source: provision in
// ironic/api/controllers/v1/node.py, ironic/conductor/manager.py, deployments.py
// and cleaning.py.
type Facts struct {
	// Maintenance is "maintenance": the node is not deployed, rebuilt, rescued,
	// unrescued, cleaned by hand or serviced.
	Maintenance bool
	// Fault is "fault", the reason that Ironic has put the node into maintenance
	// for; empty where it has not. [PowerFault] ends by itself.
	Fault string
	// Protected is "protected": the node is not torn down, rebuilt or deleted.
	Protected bool
	// Retired is "retired": the node is not provided, and automated cleaning ends
	// in manageable.
	Retired bool
	// Reserved says that "reservation" is not empty: the conductor is at work on
	// the node, and answers 409.
	Reserved bool
	// NoAutomatedClean says that automated cleaning is switched off, by the node's
	// "automated_clean" or, where that is null, by the operator's configuration:
	// provide leads to available at once.
	NoAutomatedClean bool
}

// PowerFault is the fault of a node whose power state Ironic cannot read. Ironic
// tries on, and ends the maintenance once it can.
const PowerFault = "power failure"

// obstacle returns why Ironic refuses a request for an event in a state, NoReason
// where it does not.
func (f *Facts) obstacle(from states.State, e states.Event) Reason {
	switch {
	case f.Maintenance && f.Fault == PowerFault && refusedInMaintenance(from, e):
		return PowerFailure
	case f.Maintenance && refusedInMaintenance(from, e):
		return InMaintenance
	case f.Protected && (e == states.EventDelete || e == states.EventRebuild):
		return Protected
	case f.Retired && e == states.EventProvide:
		return Retired
	case f.Reserved:
		return Reserved
	default:
		return NoReason
	}
}

// refusedInMaintenance reports whether Ironic refuses a request while the node is
// in maintenance. An operator may have provide refused as well, with
// [conductor]allow_provisioning_in_maintenance, which is on by default.
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
