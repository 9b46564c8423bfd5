// SPDX-License-Identifier: Apache-2.0

// Package sequence decides in which order a conductor does the work of a node that has steps:
//
//	for action := sequence.Next(record, result); action != sequence.End; action = sequence.Next(record, result) {
//		result = do(action) // or return the error: work that waits begins again with the next record
//	}
package sequence

import "github.com/ironstate/ironstate/states"

// Action is one action of the conductor. The actions follow one another in the order of the constants.
type Action int

const (
	Start        Action = iota
	NoteService         // note in the history that a service begins
	SkipAgent           // note that no step needs the agent
	FindAgent           // find out whether an agent that runs does the work, by fast track
	PrepareImage        // prepare the image of a deployment
	KeepAgent           // note that the agent that runs does the work
	BootAgent           // boot the agent and wait for it
	LearnSteps          // ask the agent for its steps
	Plan                // plan the work
	Replan              // plan a deployment again, with the steps of the agent
	Recall              // read the plan from the record
	NoteWork            // note in the history that any other work begins
	Abort               // end the work, as a client has requested
	RunStep             // run the next step of the plan
	End                 // all steps are done
)

// Record is the part of a node's record on which the actions depend.
type Record struct {
	Work           states.Work
	Series         states.Series
	ByAgent        bool // the agent executes steps of the work, and the node uses it
	WritesImage    bool // in a deployment the agent writes an image
	WithoutRamdisk bool // the steps were requested without a ramdisk
	NeedsNoRamdisk bool // no requested step needs the agent
	Waited         bool // the work has waited or was held since it began
	Prepared       bool // the agent was booted for the steps of a cleaning or a service, or ran already
	Begun          bool // a step has begun
	Validated      bool // a deployment was planned with the steps of the agent
	AbortAfter     bool // a client has requested an abort while a step waited that is not abortable
}

// Result is the outcome of the actions so far.
type Result struct {
	Last  Action
	Ready bool // FindAgent has found an agent
	Left  int  // the number of steps in the plan that have not begun
}

// Next returns the action that follows the last one.
//
// Source: do_node_clean and do_next_clean_step in ironic/conductor/cleaning.py and their like in deployments.py and
// servicing.py, and prepare_inband_cleaning in ironic/drivers/modules/deploy_utils.py.
func Next(r Record, s Result) Action {
	starts := r.ByAgent && !r.WithoutRamdisk && !r.Prepared && !r.Begun
	boots := starts && !r.NeedsNoRamdisk
	replans := r.Begun && r.Work == states.WorkDeploy && !r.Validated
	due := [...]bool{
		NoteService:  r.Work == states.WorkService && !r.Waited,
		SkipAgent:    starts && r.NeedsNoRamdisk,
		FindAgent:    boots && r.Work != states.WorkService,
		PrepareImage: boots && r.Work == states.WorkDeploy && r.WritesImage,
		KeepAgent:    boots && r.Work != states.WorkDeploy && s.Ready,
		BootAgent:    boots && r.Work != states.WorkDeploy && !s.Ready, // in a deployment a step boots it
		LearnSteps:   r.ByAgent && r.Prepared && !r.Begun,
		Plan:         !r.Begun,
		Replan:       replans,
		Recall:       r.Begun && !replans,
		NoteWork:     r.Work != states.WorkService && !r.Waited,
		Abort:        r.AbortAfter && (s.Left > 0 || r.Series >= states.Gazpacho), // before, work without a further step succeeds
		RunStep:      s.Left > 0,
		End:          true,
	}
	action := s.Last
	if action != RunStep {
		action++
	}
	for !due[action] {
		action++
	}
	return action
}
