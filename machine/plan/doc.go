// Package plan answers what clients of Ironic ask of a node's provision state:
// what to do next to bring the node where it is wanted ([Next]), what has become
// of a request ([Outcome]), what happened between two looks ([Explain]), and how
// one gets from here to there ([Path], [AllPaths], [CoverStates],
// [CoverTransitions]).
//
//	wish := plan.Wish{Goal: plan.Active, Version: 81}
//	for {
//		wish.Facts = plan.Facts{Maintenance: ..., Reserved: ...}
//		step, err := plan.Next(table, node, wish)
//		...
//		switch step.Action {
//		case plan.Send:
//			// PUT {"target": step.Verb}, with the field that step.With names, at
//			// version step.Version. If it is refused, keep the old progress.
//		case plan.Wait:
//			// Look again later.
//		case plan.Done, plan.Blocked:
//			// Stop; step.Reason says what is in the way.
//		}
//		wish.Progress = step.Progress // store it
//		node, err = ...               // look again
//	}
//
// Everything here is a pure function of its arguments, without I/O, goroutines
// or a clock, and safe for concurrent use. What is worked out from a series'
// table is kept from the first call on.
//
// # Who moves a node
//
// A request is a verb that the API takes at the version in use,
// [states.Table.Request]. It is sent where a node rests: in a stable or failed
// state. Everywhere else it is not for the plan to move the node:
//
//   - In an unstable state the conductor is at work. It ends with done, or with
//     clean out of deleting and manage out of a manual cleaning; or it fails,
//     which it also does when a wait times out or the conductor dies. A stored
//     target counts in cleaning alone, where manageable makes it manual.
//   - In a state that waits, the work goes on with a call from outside.
//   - In a state that is held, a person lets the work go on. The plan does not,
//     for the hold step was put there to stop it.
//
// With Policy.MayAbort the plan ends work that waits or is held, by abort or, with
// Policy.MayDestroy, by deleted: where the goal is no further from the state that
// this leads to than from the one in which the work would end, and the same kind
// of work is not needed later. A tear-down must come nearer. Work is ended once, and again
// as often as it may be retried.
//
// What Ironic looks at beside the state is in [Facts]: maintenance, protected,
// retired, a reservation, automated cleaning switched off. A request that it would
// refuse for one of them is not sent, and the step's reason says why.
//
// # The way to a goal
//
// The way is the one with the fewest requests if all work succeeds. It does not
// use adopt, other than for [Adopted], or to bring a node from adopt failed to a
// goal of a deployed node; and [Adopted] does not deploy.
//
// The way out of a failed state may do the failed work again: active in deploy
// failed, or manage in clean failed when provide must follow. That is a retry,
// and there are as many as Policy.Retries has; by default none, so that the plan
// is blocked until a person has looked. A way that leaves the failed work be,
// such as manage in inspect failed for a goal that is not [Inspected], is no
// retry. Nor is the first manage out of enroll, whatever the last error says, for
// the person who corrects the credentials of a node leaves it there. Work that is
// started a second time without having been seen to fail counts as a retry too.
//
// # Workloads
//
// A node may carry a workload in active and in all states that are headed for
// active or rescue, in these, and in error. A request destroys it:
//
//   - deleted, wherever it is taken;
//   - rebuild, but in deploy failed, where active and rebuild write again the
//     image that has overwritten what was there;
//   - manage in adopt failed, when cleaning must follow: the workload that was to
//     be adopted is there, and Ironic erases it.
//
// Without Policy.MayDestroy none of these is sent; with it, only where no other
// way leads to the goal. Rescue, service and abort leave the workload.
//
// # Progress
//
// Whether an inspection was done since the wish was made cannot be told from a
// node in manageable, so [Progress] remembers what was asked for and how often.
// It is part of the wish, and the caller's to store. If it is lost, work is done
// once more; nothing else depends on it but the count of retries.
//
// # What is proven
//
// A test plays every wish against every conductor: each series, each API version
// with requests of its own, each goal, the policies, each state with each stored
// target. It shows that the goal is reached from wherever there is a way, when
// no work fails more often than it may be retried; that each request is one that
// the API takes; that no play has endlessly many requests, whatever fails; and
// that no workload is destroyed without permission.
package plan
