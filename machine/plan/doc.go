// SPDX-License-Identifier: Apache-2.0

// Package plan is for clients of Ironic's API. It computes the next step towards a
// goal ([Next]), the result of a request ([Outcome]), and the likely history between
// two observations ([Explain]).
//
//	desired := plan.Desired{Goal: plan.In(states.Active), Version: 81}
//	for {
//		desired.Fields = plan.NodeFields{Maintenance: ..., Reserved: ...}
//		step, err := plan.Next(table, node, desired)
//		...
//		switch step.Action {
//		case plan.Send:
//			// PUT {"target": step.Verb}, with the field that step.With names, at
//			// version step.Version. If the API refuses it, keep the old progress.
//		case plan.Wait:
//			// Get the node again later.
//		case plan.Done, plan.Blocked:
//			// Stop; step.Reason says why.
//		}
//		desired.Progress = step.Progress // store it
//		node, err = ...               // get the node again
//	}
//
// [Route] returns all steps to the goal at once, as they are if all work succeeds.
//
// All functions are pure: they do no I/O, start no goroutine, read no clock, and are
// safe for concurrent use. They build an index of a series' table on the first call and
// keep it.
//
// # Who moves a node
//
// A request is a verb that the API accepts at the version in use, see
// [states.Table.Request]. The plan sends requests while the node is in a stable or
// failed state. In other states someone else moves the node:
//
//   - In an unstable state the conductor is at work. The work ends with the event
//     done, or with clean out of deleting and manage out of a manual cleaning; or it
//     fails, also by a timeout or the death of the conductor. The stored target
//     matters in cleaning alone, where manageable makes the cleaning a manual one.
//   - In a waiting state the work continues after a call from outside.
//   - In a hold state an operator resumes the work. The plan does not, because someone
//     put the hold step there.
//
// With Policy.MayAbort the plan ends work that waits or is on hold, by abort or, with
// Policy.MayDestroy, by deleted. It does so if the goal is then no further away than
// from the state in which the work would end, and if the same kind of work does not
// have to be done later; a tear-down must bring the node nearer to the goal. The plan
// ends work once, and again as often as the work may be retried.
//
// [NodeFields] are the fields other than the state for which Ironic refuses requests, such
// as maintenance, protected, retired and reservation. The plan does not send a request
// that Ironic would refuse for one of them; Step.Field then names the field.
//
// # The route to a goal
//
// A route is the sequence of requests to a goal: the shortest one if all work
// succeeds. It has no adopt, except for the goal After(EventAdopt), and from adopt
// failed for the goals of a deployed node. A route to After(EventAdopt) has no
// deployment.
//
// The route out of a failed state may repeat the failed work: active in deploy
// failed, or manage in clean failed if provide must follow. This is a retry. The
// number of retries is in Policy.Retries; by default there are none, and the plan is
// blocked until an operator has examined the node. A route that does not repeat the failed
// work, such as manage in inspect failed for a goal other than After(EventInspect), is
// no retry. The first manage out of enroll is no retry either, whatever the last
// error is, because a node stays in enroll while an operator corrects its credentials.
// Work that is started a second time is a retry even if it was not observed to fail.
//
// # Workloads
//
// A node may carry a workload in active, in rescue, in all states whose work leads to
// one of these, and in error. These requests destroy it:
//
//   - deleted, in every state;
//   - rebuild, except in deploy failed, where the image has been overwritten already;
//   - manage in adopt failed if cleaning must follow, which erases the workload that
//     was to be adopted.
//
// Without Policy.MayDestroy the plan sends none of these; with it, only if no other
// route leads to the goal, and if no later request of the route is known to be held back: the
// plan tears down no retired node for the goal of Available, where it would refuse to be
// provided. Rescue, service and abort keep the workload.
//
// # Progress
//
// The state manageable does not show whether an inspection was done since the goal
// was set. [Progress] therefore counts the requests and the tries. It is part of the
// Desired, and the caller stores it. If it is lost, work is done once more and retries
// are counted from 0; nothing else depends on it.
//
// # Proofs
//
// A test explores every goal and policy against a model of every conductor: each series, each API
// version that accepts other requests than the previous one, each goal, the policies,
// each state with each stored target. It shows that the goal is reached if there is a
// route and no work fails more often than it may be retried; that the API accepts each
// request; that every run has finitely many requests, whatever fails; and that no
// workload is destroyed without permission.
package plan
