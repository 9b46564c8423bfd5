// SPDX-License-Identifier: Apache-2.0

package states

// The history of the state machine, written by hand to be checked by eye. A row is a
// state or a transition, the series that brought it, and the series that dropped it, or
// kept if the newest series still has it. The table of each series is built from these
// rows; a test compares the tables with upstream's.
//
// Source: ironic/common/states.py and, from 35.0, ironic/common/state_machine.py
// of every series.

// kept is the end of a span whose row no series dropped.
const kept = NoSeries

// A span is the range of series that have a row: from the series that brought the row up
// to, but not including, the series that dropped it.
type span struct {
	since, dropped Series
}

func (p span) covers(s Series) bool {
	return p.since <= s && (p.dropped == kept || s < p.dropped)
}

// stateRows holds each state with its default target, the work that it belongs to, and who
// moves a node on from it. A work has one state of each phase at most. The default target is the target of a node that
// has no stored one. In every series the states without a default target are the stable states.
var stateRows = [...]struct {
	state, target State
	work          Work
	phase         Phase
	span
}{
	// Enrolment.
	{Enroll, NoState, NoWork, PhaseStable, span{Liberty, kept}},
	{Verifying, Manageable, WorkVerify, PhaseWorking, span{Liberty, kept}},
	{Manageable, NoState, NoWork, PhaseStable, span{Kilo, kept}},
	{Available, NoState, NoWork, PhaseStable, span{Kilo, kept}},

	// Inspection.
	{Inspecting, Manageable, WorkInspect, PhaseWorking, span{Kilo, kept}},
	{InspectWait, Manageable, WorkInspect, PhaseWaiting, span{Rocky, kept}},
	{InspectFail, Manageable, WorkInspect, PhaseFailed, span{Kilo, kept}},

	// Cleaning.
	{Cleaning, Available, WorkClean, PhaseWorking, span{Kilo, kept}},
	{CleanWait, Available, WorkClean, PhaseWaiting, span{Liberty, kept}},
	{CleanHold, Available, WorkClean, PhaseHold, span{Bobcat, kept}},
	{CleanFail, Available, WorkClean, PhaseFailed, span{Kilo, kept}},

	// Deployment.
	{Deploying, Active, WorkDeploy, PhaseWorking, span{Kilo, kept}},
	{DeployWait, Active, WorkDeploy, PhaseWaiting, span{Kilo, kept}},
	{DeployHold, Active, WorkDeploy, PhaseHold, span{Bobcat, kept}},
	{DeployFail, Active, WorkDeploy, PhaseFailed, span{Kilo, kept}},
	{Active, NoState, NoWork, PhaseStable, span{Kilo, kept}},

	// Adoption.
	{Adopting, Active, WorkAdopt, PhaseWorking, span{Newton, kept}},
	{AdoptFail, Active, WorkAdopt, PhaseFailed, span{Newton, kept}},

	// Rescue.
	{Rescuing, Rescue, WorkRescue, PhaseWorking, span{Queens, kept}},
	{RescueWait, Rescue, WorkRescue, PhaseWaiting, span{Queens, kept}},
	{RescueFail, Rescue, WorkRescue, PhaseFailed, span{Queens, kept}},
	{Rescue, NoState, NoWork, PhaseStable, span{Queens, kept}},
	{Unrescuing, Active, WorkUnrescue, PhaseWorking, span{Queens, kept}},
	{UnrescueFail, Active, WorkUnrescue, PhaseFailed, span{Queens, kept}},

	// Service.
	{Servicing, Active, WorkService, PhaseWorking, span{Bobcat, kept}},
	{ServiceWait, Active, WorkService, PhaseWaiting, span{Bobcat, kept}},
	{ServiceHold, Active, WorkService, PhaseHold, span{Bobcat, kept}},
	{ServiceFail, Active, WorkService, PhaseFailed, span{Bobcat, kept}},

	// Tear-down.
	{Deleting, Available, WorkDelete, PhaseWorking, span{Kilo, kept}},
	{Error, NoState, WorkDelete, PhaseFailed, span{Kilo, kept}},
}

// transitionRows holds each transition, in the order of a node's life.
var transitionRows = [...]struct {
	from  State
	event Event
	to    State
	span
}{
	// Enrolment: a node is verified before it is managed.
	{Enroll, EventManage, Verifying, span{Liberty, kept}},
	{Verifying, EventDone, Manageable, span{Liberty, kept}},
	{Verifying, EventFail, Enroll, span{Liberty, kept}},
	{Available, EventManage, Manageable, span{Kilo, kept}},

	// Inspection: out of manageable and back.
	{Manageable, EventInspect, Inspecting, span{Kilo, kept}},
	{Inspecting, EventDone, Manageable, span{Kilo, kept}},
	{Inspecting, EventFail, InspectFail, span{Kilo, kept}},
	{Inspecting, EventWait, InspectWait, span{Rocky, kept}},
	{InspectWait, EventDone, Manageable, span{Rocky, kept}},
	{InspectWait, EventResume, Inspecting, span{Bobcat, kept}},
	{InspectWait, EventFail, InspectFail, span{Rocky, kept}},
	{InspectWait, EventAbort, InspectFail, span{Rocky, kept}},
	{InspectFail, EventInspect, Inspecting, span{Kilo, kept}},
	{InspectFail, EventManage, Manageable, span{Kilo, kept}},

	// Cleaning: automated from manageable to available, or manual and back to
	// manageable.
	{Manageable, EventProvide, Cleaning, span{Kilo, kept}},
	{Manageable, EventClean, Cleaning, span{Mitaka, kept}},
	{Cleaning, EventDone, Available, span{Kilo, kept}},
	{Cleaning, EventManage, Manageable, span{Mitaka, kept}},
	{Cleaning, EventFail, CleanFail, span{Kilo, kept}},
	{Cleaning, EventWait, CleanWait, span{Liberty, kept}},
	{Cleaning, EventHold, CleanHold, span{Bobcat, kept}},
	{CleanWait, EventResume, Cleaning, span{Liberty, kept}},
	{CleanWait, EventFail, CleanFail, span{Liberty, kept}},
	{CleanWait, EventAbort, CleanFail, span{Liberty, kept}},
	{CleanWait, EventHold, CleanHold, span{Bobcat, kept}},
	{CleanHold, EventUnhold, CleanWait, span{Bobcat, kept}},
	{CleanHold, EventAbort, CleanFail, span{Bobcat, kept}},
	{CleanFail, EventManage, Manageable, span{Kilo, kept}},
	{CleanFail, EventClean, Cleaning, span{Kilo, Liberty}},

	// Deployment: from available to active.
	{Available, EventDeploy, Deploying, span{Kilo, kept}},
	{Deploying, EventDone, Active, span{Kilo, kept}},
	{Deploying, EventFail, DeployFail, span{Kilo, kept}},
	{Deploying, EventWait, DeployWait, span{Kilo, kept}},
	{Deploying, EventHold, DeployHold, span{Bobcat, kept}},
	{DeployWait, EventResume, Deploying, span{Kilo, kept}},
	{DeployWait, EventFail, DeployFail, span{Kilo, kept}},
	{DeployWait, EventAbort, DeployFail, span{Gazpacho, kept}},
	{DeployWait, EventDelete, Deleting, span{Kilo, kept}},
	{DeployWait, EventHold, DeployHold, span{Bobcat, kept}},
	{DeployHold, EventUnhold, DeployWait, span{Bobcat, kept}},
	{DeployHold, EventAbort, DeployFail, span{Bobcat, kept}},
	{DeployFail, EventDeploy, Deploying, span{Kilo, kept}},
	{DeployFail, EventRebuild, Deploying, span{Kilo, kept}},
	{DeployFail, EventDelete, Deleting, span{Kilo, kept}},
	{Active, EventRebuild, Deploying, span{Kilo, kept}},

	// Adoption: from manageable to active, with nothing deployed.
	{Manageable, EventAdopt, Adopting, span{Newton, kept}},
	{Adopting, EventDone, Active, span{Newton, kept}},
	{Adopting, EventFail, AdoptFail, span{Newton, kept}},
	{AdoptFail, EventAdopt, Adopting, span{Newton, kept}},
	{AdoptFail, EventManage, Manageable, span{Newton, kept}},

	// Rescue: out of active and back.
	{Active, EventRescue, Rescuing, span{Queens, kept}},
	{Rescuing, EventDone, Rescue, span{Queens, kept}},
	{Rescuing, EventFail, RescueFail, span{Queens, kept}},
	{Rescuing, EventWait, RescueWait, span{Queens, kept}},
	{RescueWait, EventResume, Rescuing, span{Queens, kept}},
	{RescueWait, EventFail, RescueFail, span{Queens, kept}},
	{RescueWait, EventAbort, RescueFail, span{Queens, kept}},
	{RescueWait, EventDelete, Deleting, span{Queens, kept}},
	{RescueFail, EventRescue, Rescuing, span{Queens, kept}},
	{RescueFail, EventUnrescue, Unrescuing, span{Queens, kept}},
	{RescueFail, EventDelete, Deleting, span{Queens, kept}},
	{Rescue, EventRescue, Rescuing, span{Queens, kept}},
	{Rescue, EventUnrescue, Unrescuing, span{Queens, kept}},
	{Rescue, EventDelete, Deleting, span{Queens, kept}},
	{Unrescuing, EventDone, Active, span{Queens, kept}},
	{Unrescuing, EventFail, UnrescueFail, span{Queens, kept}},
	{UnrescueFail, EventRescue, Rescuing, span{Queens, kept}},
	{UnrescueFail, EventUnrescue, Unrescuing, span{Queens, kept}},
	{UnrescueFail, EventDelete, Deleting, span{Queens, kept}},

	// Service: out of active and back, with the workload kept.
	{Active, EventService, Servicing, span{Bobcat, kept}},
	{Servicing, EventDone, Active, span{Bobcat, kept}},
	{Servicing, EventFail, ServiceFail, span{Bobcat, kept}},
	{Servicing, EventWait, ServiceWait, span{Bobcat, kept}},
	{Servicing, EventHold, ServiceHold, span{Bobcat, kept}},
	{ServiceWait, EventResume, Servicing, span{Bobcat, kept}},
	{ServiceWait, EventFail, ServiceFail, span{Bobcat, kept}},
	{ServiceWait, EventAbort, ServiceFail, span{Bobcat, kept}},
	{ServiceWait, EventDelete, Deleting, span{Epoxy, kept}},
	{ServiceWait, EventHold, ServiceHold, span{Bobcat, kept}},
	{ServiceHold, EventUnhold, ServiceWait, span{Bobcat, kept}},
	{ServiceHold, EventService, Servicing, span{Bobcat, kept}},
	{ServiceHold, EventFail, ServiceFail, span{Flamingo, kept}},
	{ServiceHold, EventAbort, ServiceFail, span{Bobcat, kept}},
	{ServiceFail, EventService, Servicing, span{Bobcat, kept}},
	{ServiceFail, EventRescue, Rescuing, span{Bobcat, kept}},
	{ServiceFail, EventAbort, Active, span{Flamingo, kept}},
	{ServiceFail, EventWait, ServiceWait, span{Flamingo, kept}},
	{ServiceFail, EventHold, ServiceHold, span{Flamingo, kept}},
	{ServiceFail, EventDelete, Deleting, span{Epoxy, kept}},

	// Tear-down: from active back to available, by way of cleaning.
	{Active, EventDelete, Deleting, span{Kilo, kept}},
	{Deleting, EventClean, Cleaning, span{Kilo, kept}},
	{Deleting, EventFail, Error, span{Stein, kept}},
	{Deleting, EventError, Error, span{Kilo, Stein}},
	{Error, EventDelete, Deleting, span{Kilo, kept}},
	{Error, EventRebuild, Deploying, span{Kilo, kept}},
}
