package lockstep

import (
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// What Ironic's conductor fires, and what it names with it, as a service on this
// module would do. Source: ironic/conductor/manager.py, cleaning.py,
// deployments.py and verify.py.

const failed = "failed"

// requested is what the conductor makes of an accepted request.
func requested(from machine.Node, event states.Event) machine.Input {
	in := machine.Input{Event: event, Work: true}
	switch event {
	case states.EventManage:
		in.Work = from.State == states.Enroll
	case states.EventClean:
		in.Target = states.Manageable
	case states.EventAbort:
		in.Target = manual(from)
		if from.State != states.RescueWait { // which Ironic leaves without
			in.LastError = "aborted by request"
		}
	}
	return in
}

// called is what the conductor makes of a call that a node waits for. An
// inspection that ran elsewhere is over with it.
func called(from machine.Node, outcome Outcome) machine.Input {
	if from.State == states.InspectWait {
		return ended(outcome, states.EventDone)
	}
	return machine.Input{Event: states.EventResume, Target: manual(from)}
}

// conducted is what the conductor fires next by itself: NoEvent where a node
// rests or waits.
func conducted(at machine.Node, outcome Outcome) machine.Input {
	var in machine.Input
	switch at.State {
	case states.Verifying, states.Adopting, states.Unrescuing:
		in = ended(outcome, states.EventDone)
	case states.Deploying, states.Inspecting, states.Rescuing:
		in = paused(outcome, states.EventDone)
	case states.Deleting:
		in = ended(outcome, states.EventClean)
	case states.Cleaning:
		success := states.EventDone
		if manual(at) != states.NoState {
			success = states.EventManage
		}
		in = paused(outcome, success)
		if in.Event != success {
			in.Target = manual(at)
		}
	}
	return in
}

// ended is how work ends that cannot wait.
func ended(outcome Outcome, success states.Event) machine.Input {
	if outcome == Fail {
		return machine.Input{Event: states.EventFail, LastError: failed}
	}
	return machine.Input{Event: success}
}

// paused is how work ends that can wait.
func paused(outcome Outcome, success states.Event) machine.Input {
	if outcome == Wait {
		return machine.Input{Event: states.EventWait}
	}
	return ended(outcome, success)
}

// manual is the target that goes with every event of a manual cleaning, NoState
// where the node is in none.
func manual(at machine.Node) states.State {
	cleaning := at.State == states.Cleaning || at.State == states.CleanWait
	if cleaning && at.Target == states.Manageable {
		return states.Manageable
	}
	return states.NoState
}
