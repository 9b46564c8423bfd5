// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/internal/try"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

//go:embed python/machine.py
var machineProgram string

// applied is the result of an event, in Ironic or in this module; the zero value is a
// refusal.
type applied struct {
	machine.Node
	Status string
}

// question is the input of [machine.Node.Apply] and of Ironic's state machine.
type question struct {
	node machine.Node
	in   machine.Input
}

// tables applies every event in every state to Ironic's own state machine, with
// the task manager that stores the result, and compares with [machine.Node.Apply].
func (c *Comparison) tables(ctx context.Context, i *Ironic) {
	ironic := startPython(i.Installation, machineProgram)
	defer try.Finally(ironic.close)
	for state := range states.AllStates() {
		try.OK(ctx.Err())
		questions := slices.DeleteFunc(i.questionsFrom(state), func(question) bool { return i.sample.leavesOut() })
		want := askTables(ironic, questions)
		for n, q := range questions {
			c.compare(want[n], i.applyTables(q), "%+v on %+v", q.in, q.node)
		}
	}
}

// steps applies the events of the built-in steps of 2023.2 and later, wait and
// resume without a target, to Ironic's own state machine, and compares with
// [machine.Node.Report]. Source: use_reserved_step_handler in
// ironic/conductor/steps.py of those series.
func (c *Comparison) steps(_ context.Context, i *Ironic) {
	ironic := startPython(i.Installation, machineProgram)
	defer try.Finally(ironic.close)
	for _, q := range []struct {
		what  string
		from  states.State
		event states.Event
	}{
		{"a step that waits", states.Cleaning, states.EventWait},
		{"a step that has waited", states.CleanWait, states.EventResume},
	} {
		for _, target := range []states.State{states.Available, states.Manageable} {
			at := machine.Node{State: q.from, Target: target}
			want := askTables(ironic, []question{{at, machine.Input{Event: q.event}}})
			got := try.Get(at.Report(i.table(), q.event, ""))
			describe := func(n machine.Node) string { return fmt.Sprintf("in %v, target %v", n.State, n.Target) }
			c.compare(describe(want[0].Node), describe(got), "%s, in %v to %v", q.what, q.from, target)
		}
	}
}

// questionsFrom returns the questions for one state: every event with every stored and
// every named target, including none and one that the series lacks. It varies the
// errors and the work only for an event that has a row.
func (i Installation) questionsFrom(state states.State) []question {
	targets := append(slices.Collect(i.table().States().All()), states.NoState)
	for other := range states.AllStates() {
		if !i.table().States().Has(other) {
			targets = append(targets, other)
			break
		}
	}
	var questions []question
	for event := range states.AllEvents() {
		_, legal := i.table().Next(state, event)
		for _, stored := range targets {
			for _, named := range targets {
				at := machine.Node{State: state, Target: stored}
				in := machine.Input{Event: event, Target: named}
				questions = append(questions, question{at, in})
				for bits := 0; legal && bits < 8; bits++ {
					at.LastError, in.LastError = []string{"", "old"}[bits&1], []string{"", "new"}[bits>>1&1]
					in.Work = bits&4 != 0
					questions = append(questions, question{at, in})
				}
			}
		}
	}
	return questions
}

// askTables returns Ironic's results.
func askTables(ironic *python, questions []question) []applied {
	inputs := make([][]any, len(questions))
	for n, q := range questions {
		inputs[n] = []any{
			q.node.State, q.node.Target, orNull(q.node.LastError),
			q.in.Event, q.in.Target, orNull(q.in.LastError), q.in.Work,
		}
	}
	var answers []*[4]string
	ironic.ask(inputs, &answers)
	results := make([]applied, len(answers))
	for n, a := range answers {
		if a == nil {
			continue
		}
		results[n] = applied{machine.Node{State: try.Get(states.Parse(a[0])), LastError: a[2]}, a[3]}
		if a[1] != "" {
			results[n].Target = try.Get(states.Parse(a[1]))
		}
	}
	return results
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// applyTables returns the result of a Machine, which uses Apply for the node, with the
// status of its notification.
func (i Installation) applyTables(q question) applied {
	var status string
	m, err := machine.New(machine.Config{
		Table: i.table(),
		Node:  q.node,
		Enter: []machine.Hook{func(_ context.Context, t machine.Transition) error {
			status = string(t.Status)
			return nil
		}},
	})
	if err != nil || m.Apply(context.Background(), q.in) != nil {
		return applied{}
	}
	return applied{m.Node(), status}
}
