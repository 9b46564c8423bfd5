// SPDX-License-Identifier: Apache-2.0

package states

// State is a provision state: where a node is in its life. The zero value is
// [NoState].
//
// The order of the constants is the order of ironic/common/states.py. The
// number behind a constant may change between releases of this module: store
// and send the word, as all encoders here do. A State is a plain value and may
// be shared freely.
type State uint8

const (
	// NoState is the absence of a state, upstream's NOSTATE: null in JSON and
	// SQL, "none" as text. A node whose target is NoState is not on
	// its way to another state. Until Kilo NoState was also the state of a node free for
	// use, and API versions below 1.2 still show Available as null.
	NoState State = 0
)

// Enrolment: the node is known, and then known to be manageable.
const (
	// Enroll ("enroll"): Ironic has a record of the node and has not yet shown that it
	// can manage it. API requests of version 1.11 and up create nodes in this state. A
	// stable state since Liberty.
	//
	// A client moves the node with `manage`, which starts the verification. A node
	// whose verification failed is here again, and `last_error` says why. Power sync
	// skips the node.
	//
	// Before `manage`, an operator sets the node's driver and interfaces, and in
	// `driver_info` the BMC's address and credentials. After a failed verification the
	// operator corrects them and requests `manage` again.
	Enroll State = NoState + 1 + iota
	// Verifying ("verifying"): The conductor checks that it can manage the node: it
	// validates the driver's configuration and reads the power state with the
	// credentials in `driver_info`. Since Liberty.
	//
	// The conductor moves the node itself: `done` leads to `manageable`, and `fail`
	// back to `enroll`, where `last_error` says why.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Verifying
	// Manageable ("manageable"): Ironic has reached the hardware with the node's
	// credentials, but does not deploy to the node. A stable state since Kilo.
	//
	// A client moves the node: `inspect` inspects the hardware, `clean` (since Mitaka)
	// runs the clean steps that the request names, `adopt` (since Newton) takes over a
	// node with a workload, and `provide` makes the node available.
	//
	// In this state an operator changes the node's `driver_info` and its ports, and
	// finds out why work failed. A node whose inspection, cleaning or adoption failed
	// comes back here with `manage`.
	Manageable
	// Available ("available"): The node is clean and free, and may be deployed. A
	// stable state since Kilo, where it replaced NOSTATE.
	//
	// A client, such as a scheduler, moves the node with `active`, or its alias
	// `deploy`, which starts a deployment. A client takes it back to `manageable` with
	// `manage`, at once.
	//
	// An operator takes the node back before changing its `driver_info` or its ports,
	// because a scheduler may deploy it at any time.
	Available
)

// Deployment: an image is written to the node, and the node is deployed.
const (
	// Active ("active"): The node is deployed and carries a workload. A stable state
	// since Kilo.
	//
	// A client moves the node: `deleted` tears it down, `rebuild` redeploys it,
	// `rescue` (since Queens) boots it into a rescue ramdisk, and `service` (since
	// 2023.2) runs service steps on it. Rescue and service keep the workload.
	//
	// An operator who wants to keep the workload sets `protected`, for which Ironic
	// refuses `deleted` and `rebuild`.
	Active State = Available + 1 + iota
	// DeployWait ("wait call-back"): A deployment is in progress, and the conductor
	// waits for the ramdisk to boot or to finish a deploy step. Since Kilo.
	//
	// The ramdisk's call moves the node with `resume`. A call that does not come in
	// time fails the deployment with `fail`. A hold step (since 2023.2) stops it with
	// `hold`.
	//
	// A client may tear the node down with `deleted` and, since 2026.1, end the
	// deployment with `abort`; a step that must not be interrupted is finished first.
	// An operator looks at the node's console when the call does not come.
	DeployWait
	// Deploying ("deploying"): The conductor prepares the node for its workload by
	// deploy steps, which configure the firmware, partition the disks, write the image
	// and attach the networks. Since Kilo.
	//
	// The conductor moves the node itself: `done` leads to `active`, `wait` to `wait
	// call-back`, `fail` to `deploy failed` and, since 2023.2, `hold` to `deploy
	// hold`.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Deploying
	// DeployFail ("deploy failed"): The deployment failed, timed out or was aborted,
	// and `last_error` says why. What was on the disks may be overwritten. Since Kilo.
	//
	// A client moves the node: `active` or `rebuild` tries the deployment again, and
	// `deleted` tears the node down, which ends in `available`.
	//
	// An operator reads `last_error` and removes the cause before the next try.
	DeployFail
	// DeployDone ("deploy complete"): This is an old word for a finished deployment,
	// once a target of the Nova driver. No series has it in its table; a deployed node
	// is `active`.
	DeployDone
	// DeployHold ("deploy hold"): A hold step stopped the deployment. Since 2023.2.
	//
	// A client moves the node: with `unhold` the deployment continues in `wait
	// call-back`, and `abort` ends it in `deploy failed`. No timeout ends the hold.
	//
	// An operator examines the node at the point where the step stopped it, and then
	// requests `unhold`.
	DeployHold
)

// Tear-down and cleaning: the workload leaves, its traces are removed.
const (
	// Deleting ("deleting"): The conductor tears the workload down: it switches the
	// node off and removes the networks and the boot configuration that the deployment
	// set up. Since Kilo.
	//
	// The conductor moves the node itself: `clean` leads to `cleaning`. A tear-down
	// that fails leads to `error`, with the event `fail` (since Stein; until Rocky it
	// was `error`).
	//
	// An operator waits. The API accepts the word `clean` here because the conductor's
	// own event has that name; clients need not send it.
	Deleting State = DeployHold + 1 + iota
	// Deleted ("deleted"): This is an old word for a finished tear-down, passed
	// through within one step in Kilo. No series has it in its table; the word is the
	// API's verb for the event `delete`.
	Deleted
	// Cleaning ("cleaning"): The conductor runs clean steps. After `provide` and after
	// a tear-down these are the automated ones, which by default erase the disks;
	// after `clean` (since Mitaka) they are those that the request names. A node whose
	// automated cleaning is switched off passes through this state at once. Since
	// Kilo.
	//
	// The conductor moves the node itself. Automated cleaning ends in `available` with
	// `done`, and a cleaning by request in `manageable` with `manage` (since Mitaka),
	// as does the automated cleaning of a retired node. `wait` (since Liberty) leads
	// to `clean wait`, `hold` (since 2023.2) to `clean hold`, and `fail` to `clean
	// failed`.
	//
	// An operator waits, and the API refuses power requests in this state. The API
	// accepts the word `manage` here because the conductor's own event has that name;
	// clients need not send it.
	Cleaning
	// CleanWait ("clean wait"): A cleaning is in progress, and the conductor waits for
	// the ramdisk to boot or to finish a clean step. Since Liberty.
	//
	// The ramdisk's call moves the node with `resume`. A call that does not come in
	// time fails the cleaning with `fail`. A hold step (since 2023.2) stops it with
	// `hold`.
	//
	// A client may end the cleaning with `abort`, which leads to `clean failed`; a
	// step that must not be interrupted is finished first. The API refuses power
	// requests in this state.
	CleanWait
	// CleanFail ("clean failed"): Cleaning failed, timed out or was aborted, and
	// `last_error` says why. The disks may still hold data of the last workload. Since
	// Kilo.
	//
	// A client moves the node to `manageable` with `manage`. Until Kilo the event
	// `clean`, which only the conductor fires, leads out of this state too.
	//
	// An operator removes the cause, ends the maintenance that Ironic has set after a
	// failed step, requests `manage`, and has the node cleaned again before it is
	// used.
	CleanFail
	// CleanHold ("clean hold"): A hold step stopped the cleaning. Since 2023.2.
	//
	// A client moves the node: with `unhold` the cleaning continues in `clean wait`,
	// and `abort` ends it in `clean failed`. No timeout ends the hold.
	//
	// An operator examines the node at the point where the step stopped it, and then
	// requests `unhold`.
	CleanHold
	// Error ("error"): Tearing the workload down failed, and `last_error` says why. A
	// stable state since Kilo.
	//
	// A client moves the node: `deleted` tears the workload down again, and `rebuild`
	// redeploys the node.
	//
	// An operator reads `last_error` and removes the cause before the next try.
	Error
	// Rebuild ("rebuild"): This is a verb that upstream keeps among its state words.
	// No series has it in its table; the event is `rebuild`.
	Rebuild
)

// Inspection: the hardware's properties are read.
const (
	// Inspecting ("inspecting"): The conductor reads the hardware's properties, such
	// as processors, memory, disks and ports, from the BMC or by a ramdisk, and stores
	// them in the node's record. Since Kilo.
	//
	// The conductor moves the node itself: `done` leads to `manageable`, `fail` to
	// `inspect failed` and, since Rocky, `wait` to `inspect wait`.
	//
	// An operator waits, because the API takes no request for the node in this state
	// and, from version 1.39 on, no update of its record.
	Inspecting State = Rebuild + 1 + iota
	// InspectFail ("inspect failed"): The inspection failed, timed out or was aborted,
	// and `last_error` says why. Since Kilo.
	//
	// A client moves the node: `inspect` tries again, and `manage` leads to
	// `manageable` without an inspection.
	//
	// An operator reads `last_error` and removes the cause before the next try.
	InspectFail
	// InspectWait ("inspect wait"): An inspection is in progress, and the conductor
	// waits for the ramdisk or the inspection service to report. API versions below
	// 1.39 show this state as `inspecting`. Since Rocky.
	//
	// A report moves the node: `done` leads to `manageable` and, since 2023.2,
	// `resume` back to `inspecting`. A report that does not come in time fails the
	// inspection with `fail`.
	//
	// A client may end the inspection with `abort`, which leads to `inspect failed`.
	// An operator looks at the node's console when the report does not come.
	InspectWait
)

// Adoption: a node deployed by other means is taken over.
const (
	// Adopting ("adopting"): The conductor takes over a node that carries a workload
	// already. It does not clean the node and does not deploy to it; it prepares what
	// it needs to manage the node from now on. Since Newton.
	//
	// The conductor moves the node itself: `done` leads to `active`, and `fail` to
	// `adopt failed`.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Adopting State = InspectWait + 1 + iota
	// AdoptFail ("adopt failed"): The node could not be taken over, and `last_error`
	// says why. The workload is untouched. Since Newton.
	//
	// A client moves the node: `adopt` tries again, and `manage` leads to
	// `manageable`.
	//
	// An operator corrects the node's record, its image for instance, before the next
	// try. A node that is made available instead is cleaned, which erases the
	// workload.
	AdoptFail
)

// Rescue: the node is booted into a ramdisk for repair, its workload kept.
const (
	// Rescue ("rescue"): The rescue ramdisk runs and can be logged in to; the workload
	// is on the disks and does not run. A stable state since Queens.
	//
	// A client moves the node: `unrescue` brings the workload back, `rescue` boots the
	// ramdisk again, and `deleted` tears the node down.
	//
	// An operator logs in with the password that the request for the rescue set,
	// repairs the system, and requests `unrescue`.
	Rescue State = AdoptFail + 1 + iota
	// RescueFail ("rescue failed"): The rescue failed, timed out or was aborted, and
	// `last_error` says why. The workload is on the disks and does not run. Since
	// Queens.
	//
	// A client moves the node: `rescue` tries again, `unrescue` brings the workload
	// back, and `deleted` tears the node down.
	//
	// An operator reads `last_error` and removes the cause, or requests `unrescue` to
	// have the workload run again.
	RescueFail
	// RescueWait ("rescue wait"): A rescue is in progress, and the conductor waits for
	// the ramdisk to boot and to set the password. Since Queens.
	//
	// The ramdisk's call moves the node with `resume`. A call that does not come in
	// time fails the rescue with `fail`.
	//
	// A client may end the rescue with `abort`, which leads to `rescue failed`, or
	// tear the node down with `deleted`. An operator looks at the node's console when
	// the call does not come.
	RescueWait
	// Rescuing ("rescuing"): The conductor prepares the rescue: it switches the
	// networks and the boot device over and restarts the node with the rescue ramdisk.
	// Since Queens.
	//
	// The conductor moves the node itself: `done` leads to `rescue`, `wait` to `rescue
	// wait`, and `fail` to `rescue failed`.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Rescuing
	// UnrescueFail ("unrescue failed"): The way back from the rescue failed, and
	// `last_error` says why. The workload is on the disks and may not run. Since
	// Queens.
	//
	// A client moves the node: `unrescue` tries again, `rescue` boots the rescue
	// ramdisk, and `deleted` tears the node down.
	//
	// An operator reads `last_error` and removes the cause before the next try.
	UnrescueFail
	// Unrescuing ("unrescuing"): The conductor brings the workload back: it switches
	// the networks and the boot device over and restarts the node from its own disk.
	// Since Queens.
	//
	// The conductor moves the node itself: `done` leads to `active`, and `fail` to
	// `unrescue failed`.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Unrescuing
)

// Service: steps are run on a node that carries a workload, which stays.
const (
	// Servicing ("servicing"): The conductor runs service steps, such as firmware
	// updates, on a node that carries a workload. The workload stays on the disks
	// and does not run. Since 2023.2.
	//
	// The conductor moves the node itself: `done` leads to `active`, `wait` to
	// `service wait`, `hold` to `service hold`, and `fail` to `service failed`.
	//
	// An operator waits, because the API takes no request for the node in this state.
	Servicing State = Unrescuing + 1 + iota
	// ServiceWait ("service wait"): A service is in progress, and the conductor waits
	// for the ramdisk to boot or to finish a service step. Since 2023.2.
	//
	// The ramdisk's call moves the node with `resume`. A call that does not come in
	// time fails the service with `fail`. A hold step stops it with `hold`.
	//
	// A client may end the service with `abort` and, since 2025.1, tear the node down
	// with `deleted`; a step that must not be interrupted is finished first. Before
	// `abort`, an operator looks at the node's console: an interrupted firmware update
	// can destroy the hardware.
	ServiceWait
	// ServiceFail ("service failed"): The service failed or was aborted, and
	// `last_error` says why. The workload is on the disks and may not run. Since
	// 2023.2.
	//
	// A client moves the node: `service` tries again, `rescue` boots the rescue
	// ramdisk, `deleted` (since 2025.1) tears the node down, and `abort` (since
	// 2025.2) brings the workload back in `active`. A service that continues
	// nevertheless leads to `service wait` with `wait` (since 2025.2), or to `service
	// hold` with `hold` (since 2025.2).
	//
	// An operator ends the maintenance that Ironic has set after a failed step. Before
	// `abort`, the operator looks at the node's console: an interrupted firmware
	// update can destroy the hardware.
	ServiceFail
	// ServiceHold ("service hold"): A hold step stopped the service. Since 2023.2.
	//
	// A client moves the node: with `unhold` the service continues in `service wait`,
	// `service` starts it over, and `abort` ends it. A service that fails during
	// the hold leads to `service failed` with `fail` (since 2025.2). No timeout ends the hold.
	//
	// An operator examines the node at the point where the step stopped it, and then
	// requests `unhold`. Before `abort`, the operator looks at the node's console: an
	// interrupted firmware update can destroy the hardware.
	ServiceHold

	numStates
)
