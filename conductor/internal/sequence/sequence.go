// SPDX-License-Identifier: Apache-2.0

// Package sequence decides in which order a conductor does the work of a node that has steps, and does it.
package sequence

import (
	"context"

	"github.com/ironstate/ironstate/states"
)

// Action is one action of the conductor. The actions follow one another in the order of the constants.
type Action int

const (
	Start        Action = iota
	NoteEarly           // note in the history that the work begins, before it is planned
	SkipAgent           // note that no step needs the agent
	FindAgent           // find out whether an agent that runs does the work, by fast track
	PrepareImage        // prepare the image that the agent writes
	KeepAgent           // note that the agent that runs does the work
	BootAgent           // boot the agent and wait for it
	LearnSteps          // ask the agent for its steps
	Plan                // plan the work
	Replan              // plan the work again, with the steps of the agent
	Recall              // read the plan from the record
	Note                // note in the history that the work begins
	Abort               // end the work, as a client has requested
	RunStep             // run the next step of the plan
	End                 // all steps are done
)

// Operates reports whether an action operates the machine or its agent before the steps, which need a permission of
// their own.
func (a Action) Operates() bool { return FindAgent <= a && a <= LearnSteps }

// Record is the part of a node's record on which the actions depend.
type Record struct {
	Series         states.Series
	NotedEarly     bool // the history has the beginning of the work even if it cannot be planned
	TakesAgent     bool // an agent that runs may do the work
	BootsInStep    bool // a step of the work boots the agent, and then the work is planned again
	ByAgent        bool // the agent executes steps of the work, and the node uses it
	WritesImage    bool // the agent writes an image
	WithoutRamdisk bool // the steps were requested without a ramdisk
	NeedsNoRamdisk bool // no requested step needs the agent
	Waited         bool // the work has waited or was held since it began
	Prepared       bool // the agent was booted for the steps, or ran already
	Begun          bool // a step has begun
	Validated      bool // the work was planned again
	AbortAfter     bool // a client has requested an abort while a step waited that is not abortable
}

// Result is the outcome of the actions so far.
type Result struct {
	Last  Action
	Ready bool // FindAgent has found an agent
	Left  int  // the number of steps in the plan that have not begun
}

// Task carries out the actions of work.
type Task interface {
	// Do carries out an action. Its error ends Run: work that waits begins again with the next record.
	Do(context.Context, Action) error
	// Progress returns whether FindAgent has found an agent, and the number of steps in the plan that have not begun.
	Progress() (ready bool, left int)
}

// Run does the work of a record until all steps are done.
func Run(ctx context.Context, r Record, t Task) error {
	for last := Start; ; {
		ready, left := t.Progress()
		if last = Next(r, Result{last, ready, left}); last == End {
			return nil
		}
		if err := t.Do(ctx, last); err != nil {
			return err
		}
	}
}

// Next returns the action that follows the last one.
//
// Source: do_node_clean and do_next_clean_step in ironic/conductor/cleaning.py and their like in deployments.py and
// servicing.py, and prepare_inband_cleaning in ironic/drivers/modules/deploy_utils.py.
func Next(r Record, s Result) Action {
	starts := r.ByAgent && !r.WithoutRamdisk && !r.Prepared && !r.Begun
	boots := starts && !r.NeedsNoRamdisk
	replans := r.Begun && r.BootsInStep && !r.Validated
	due := [...]bool{
		NoteEarly:    r.NotedEarly && !r.Waited,
		SkipAgent:    starts && r.NeedsNoRamdisk,
		FindAgent:    boots && r.TakesAgent,
		PrepareImage: boots && r.WritesImage,
		KeepAgent:    boots && !r.BootsInStep && s.Ready,
		BootAgent:    boots && !r.BootsInStep && !s.Ready,
		LearnSteps:   r.ByAgent && r.Prepared && !r.Begun,
		Plan:         !r.Begun,
		Replan:       replans,
		Recall:       r.Begun && !replans,
		Note:         !r.NotedEarly && !r.Waited,
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
