// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// Sinks keep the compiler from removing the measured calls.
var (
	sinkStep    plan.Step
	sinkVerdict plan.Verdict
	sinkState   states.State
)

// answers has, for each action, a state in which Next returns it for the goal Active.
var answers = map[string]states.State{
	"send": states.Available, "wait": states.Deploying, "done": states.Active, "blocked": states.DeployFail,
}

// BenchmarkNext also measures the table's lookup, for comparison.
func BenchmarkNext(b *testing.B) {
	b.Run("table", func(b *testing.B) {
		event := states.EventDeploy
		b.ReportAllocs()
		for b.Loop() {
			sinkState, _ = latest.Next(sinkState, event)
		}
	})
	for name, state := range answers {
		b.Run(name, func(b *testing.B) {
			n := node(state)
			desired := plan.Desired{
				Version: newest,
				Goal:    plan.In(states.Active),
				Fields:  plan.NodeFields{Retired: true, Associated: true},
			}
			b.ReportAllocs()
			for b.Loop() {
				sinkStep, _ = plan.Next(latest, n, desired)
			}
		})
	}
}

func BenchmarkOutcome(b *testing.B) {
	before := node(states.Available)
	for name, state := range answers {
		b.Run(name, func(b *testing.B) {
			now := machine.Node{State: state, LastError: "no power"}
			b.ReportAllocs()
			for b.Loop() {
				sinkVerdict, _ = plan.Outcome(latest, before, "active", now)
			}
		})
	}
}

// BenchmarkBuild measures the cost of the first call for a series.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		plan.Build(latest)
	}
}

func BenchmarkExplain(b *testing.B) {
	seen := []states.State{states.Enroll, states.Available, states.Active, states.Active, states.Available}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = plan.Explain(latest, seen)
	}
}

func TestAnswersDoNotAllocate(t *testing.T) {
	fields := []plan.NodeFields{
		{}, {Maintenance: true}, {Maintenance: true, Fault: "power failure"}, {Protected: true}, {Retired: true},
		{Associated: true}, {Reserved: true}, {NoAutomatedClean: true}, {Retired: true, NoAutomatedClean: true},
	}
	all := append(slices.Collect(latest.States().All()), states.UnknownState)
	for _, s := range all {
		for goal := range plan.AllGoals() {
			for _, f := range fields {
				desired := plan.Desired{Version: newest + 1, Goal: goal, Policy: plan.Policy{MayAbort: true}, Fields: f}
				require.Zero(t, testing.AllocsPerRun(10, func() { sinkStep, _ = plan.Next(latest, node(s), desired) }))
			}
		}
		now := machine.Node{State: s, LastError: "no power"}
		require.Zero(t, testing.AllocsPerRun(10, func() {
			sinkVerdict, _ = plan.Outcome(latest, node(states.Active), "deleted", now)
		}))
	}
}
