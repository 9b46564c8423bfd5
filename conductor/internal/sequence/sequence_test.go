// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/sequence"
	"github.com/ironstate/ironstate/states"
)

// task is a [sequence.Task] whose plan has so many steps left. A boot of the agent and an abort end it.
type task struct {
	agent   bool // an agent runs that does the work
	steps   int
	actions []sequence.Action

	ready bool
	left  int
}

var errEnds = errors.New("the work waits or ends")

func (t *task) Progress() (ready bool, left int) { return t.ready, t.left }

func (t *task) Do(_ context.Context, action sequence.Action) error {
	t.actions = append(t.actions, action)
	switch action {
	case sequence.FindAgent:
		t.ready = t.agent
	case sequence.Plan, sequence.Replan, sequence.Recall:
		t.left = t.steps
	case sequence.RunStep:
		t.left--
	case sequence.BootAgent, sequence.Abort:
		return errEnds
	}
	return nil
}

// trace returns the actions for a record.
func trace(r sequence.Record, agent bool, steps int) []sequence.Action {
	t := &task{agent: agent, steps: steps}
	if sequence.Run(context.Background(), r, t) == nil {
		return append(t.actions, sequence.End)
	}
	return t.actions
}

func TestTheActionsOfEachWork(t *testing.T) {
	type (
		record  = sequence.Record
		actions = []sequence.Action
	)
	const (
		late                 = states.Hibiscus
		plan, note, run, end = sequence.Plan, sequence.Note, sequence.RunStep, sequence.End
		find, boot, recall   = sequence.FindAgent, sequence.BootAgent, sequence.Recall
		learn, abort         = sequence.LearnSteps, sequence.Abort
		keep, skip, image    = sequence.KeepAgent, sequence.SkipAgent, sequence.PrepareImage
	)
	for name, test := range map[string]struct {
		record record
		ready  bool
		left   int
		want   actions
	}{
		"a tear-down":                {record{}, false, 1, actions{plan, note, run, end}},
		"a cleaning without steps":   {record{TakesAgent: true}, false, 0, actions{plan, note, end}},
		"a cleaning boots the agent": {record{TakesAgent: true, ByAgent: true}, false, 2, actions{find, boot}},
		"a cleaning finds an agent":  {record{TakesAgent: true, ByAgent: true}, true, 2, actions{find, keep, plan, note, run, run, end}},
		"a cleaning, no ramdisk":     {record{TakesAgent: true, ByAgent: true, WithoutRamdisk: true}, false, 1, actions{plan, note, run, end}},
		"a cleaning needs no agent": {
			record{TakesAgent: true, ByAgent: true, NeedsNoRamdisk: true},
			false, 1, actions{skip, plan, note, run, end},
		},
		"the agent to clean runs": {
			record{TakesAgent: true, ByAgent: true, Waited: true, Prepared: true},
			false, 2, actions{learn, plan, run, run, end},
		},
		"a clean step has ended": {
			record{TakesAgent: true, ByAgent: true, Waited: true, Prepared: true, Begun: true},
			false, 1, actions{recall, run, end},
		},
		"a client has aborted it": {record{TakesAgent: true, Waited: true, Begun: true, AbortAfter: true}, false, 1, actions{recall, abort}},
		"too late": {
			record{TakesAgent: true, Waited: true, Begun: true, AbortAfter: true, Series: states.Flamingo},
			false, 0, actions{recall, end},
		},
		"too late, 2026.1": {
			record{TakesAgent: true, Waited: true, Begun: true, AbortAfter: true, Series: late},
			false, 0, actions{recall, abort},
		},
		"a service": {record{NotedEarly: true, ByAgent: true}, false, 1, actions{sequence.NoteEarly, boot}},
		"the agent to serve runs": {
			record{NotedEarly: true, ByAgent: true, Waited: true, Prepared: true},
			false, 1, actions{learn, plan, run, end},
		},
		"a deployment": {record{TakesAgent: true, BootsInStep: true, ByAgent: true}, false, 1, actions{find, plan, note, run, end}},
		"a deployment of an image": {
			record{TakesAgent: true, BootsInStep: true, ByAgent: true, WritesImage: true}, true, 1, actions{find, image, plan, note, run, end},
		},
		"the agent to deploy runs": {
			record{TakesAgent: true, BootsInStep: true, ByAgent: true, Waited: true, Begun: true},
			false, 2, actions{sequence.Replan, run, run, end},
		},
		"an agent's step has ended": {
			record{TakesAgent: true, BootsInStep: true, ByAgent: true, Waited: true, Begun: true, Validated: true},
			false, 1, actions{recall, run, end},
		},
	} {
		require.Equal(t, test.want, trace(test.record, test.ready, test.left), name)
	}
}

// all calls check with every record and each result of its actions.
func all(check func(r sequence.Record, ready bool, left int)) {
	for bits := range 1 << 13 {
		bit := func(i int) bool { return bits>>i&1 == 1 }
		for _, series := range []states.Series{states.Flamingo, states.Gazpacho} {
			for left := range 3 {
				check(sequence.Record{
					Series: series, ByAgent: bit(0), WritesImage: bit(1), WithoutRamdisk: bit(2), NeedsNoRamdisk: bit(3), Waited: bit(4),
					Prepared: bit(5), Begun: bit(6), Validated: bit(7), AbortAfter: bit(8),
					NotedEarly: bit(9), TakesAgent: bit(10), BootsInStep: bit(11),
				}, bit(12), left)
			}
		}
	}
}

// TestNextOverTheWholeSpace compares the actions for every record with the same rules as a procedure.
func TestNextOverTheWholeSpace(t *testing.T) {
	all(func(r sequence.Record, ready bool, left int) {
		var want []sequence.Action
		add := func(actions ...sequence.Action) { want = append(want, actions...) }
		if r.NotedEarly && !r.Waited {
			add(sequence.NoteEarly)
		}
		if r.ByAgent && !r.WithoutRamdisk && !r.Begun && !r.Prepared {
			if r.NeedsNoRamdisk {
				add(sequence.SkipAgent)
			} else {
				if r.TakesAgent {
					add(sequence.FindAgent)
				}
				if r.WritesImage {
					add(sequence.PrepareImage)
				}
				switch {
				case r.BootsInStep:
				case r.TakesAgent && ready:
					add(sequence.KeepAgent)
				default:
					add(sequence.BootAgent)
				}
			}
		}
		if !slices.Contains(want, sequence.BootAgent) {
			if r.ByAgent && r.Prepared && !r.Begun {
				add(sequence.LearnSteps)
			}
			switch {
			case !r.Begun:
				add(sequence.Plan)
			case r.BootsInStep && !r.Validated:
				add(sequence.Replan)
			default:
				add(sequence.Recall)
			}
			if !r.NotedEarly && !r.Waited {
				add(sequence.Note)
			}
			if r.AbortAfter && (left > 0 || r.Series == states.Gazpacho) {
				add(sequence.Abort)
			} else {
				add(slices.Repeat([]sequence.Action{sequence.RunStep}, left)...)
				add(sequence.End)
			}
		}
		require.Equal(t, want, trace(r, ready, left), "%+v %v %v", r, ready, left)
	})
}
