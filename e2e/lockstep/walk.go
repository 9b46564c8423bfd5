// SPDX-License-Identifier: Apache-2.0

package lockstep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A step is one input of a life: a request, a call, a timeout or a change of maintenance.
type step struct {
	kind    stepKind
	word    string // of a request
	version states.APIVersion
	outcome Outcome
	on      bool // of maintenance
}

type stepKind int

const (
	requestStep stepKind = iota
	callStep
	timeoutStep
	maintenanceStep
)

// choose picks a number from 0 to n-1; the label names the choice.
type choose func(label string, n int) int

func pick[T any](pick choose, label string, from []T) T { return from[pick(label, len(from))] }

// beginnings are the states in which a life may begin.
func (i Installation) beginnings() []states.State {
	return slices.Collect(i.table().Stable().Union(i.table().Failed()).All())
}

// chooseStep chooses the next step of a node. Half of the steps are requests that the
// API accepts in the node's state. The others request any word at any version or, if
// the node waits, are mostly calls and timeouts. One step in ten begins or ends maintenance.
func (i Installation) chooseStep(at machine.Node, choose choose) step {
	s := step{version: i.newest(), outcome: pick(choose, "outcome", Outcomes)}
	taken := slices.Collect(i.table().Requests(at.State, i.newest()))
	waits := i.table().Phase(at.State) == states.PhaseWaiting
	kind := choose("kind", 8)
	if choose("maintenance", 10) == 0 {
		s.kind, s.on = maintenanceStep, choose("on", 3) == 0
		return s
	}
	switch {
	case waits && kind == 7:
		s.kind = timeoutStep
	case waits && kind >= 4:
		s.kind = callStep
	case len(taken) > 0 && kind%2 == 0:
		s.word = pick(choose, "word", taken)
	default:
		s.word = pick(choose, "any word", words())
		s.version = states.APIVersion(1 + choose("version", int(s.version)+1))
	}
	return s
}

// take applies a step to all systems.
func (l *life) take(ctx context.Context, s step) *Difference {
	switch s.kind {
	case callStep:
		return l.call(ctx, s.outcome)
	case timeoutStep:
		return l.expire(ctx)
	case maintenanceStep:
		return l.maintain(ctx, s.on)
	default:
		return l.request(ctx, s.word, s.version, s.outcome)
	}
}

// explain returns a difference if [plan.Explain] finds no history with the polled states.
func (l *life) explain() *Difference {
	seen := make([]states.State, len(l.seen))
	for n, at := range l.seen {
		seen[n] = at.State
	}
	if _, err := plan.Explain(l.ironic.table(), seen); err != nil {
		return &Difference{"what polling saw", fmt.Sprint(seen), err.Error()}
	}
	return nil
}

const (
	walkSteps = 2000 // in all lives together
	lifeSteps = 40   // in one life
)

// compareWalks returns the comparison by random lives, one after the other until they have these steps. The seed of the
// sample determines them.
func compareWalks(steps int) compare {
	const name = "lives at random: every field that ironstate's API shows of the node, after every step"
	return named(name, func(c *Comparison, ctx context.Context, i *Ironic) {
		s := startScripted(ctx, i.Series)
		defer s.Close()
		random := rand.New(rand.NewPCG(i.sample.seed, 0))
		choose := func(_ string, n int) int { return random.IntN(n) }
		for c.Compared < steps {
			c.add(i.walk(ctx, s, choose))
		}
	})
}

// walk runs one random life until its end or the first difference.
func (i *Ironic) walk(ctx context.Context, s *scripted, choose choose) (found *Difference, steps int) {
	l := i.beginLife(ctx, s, pick(choose, "from", i.beginnings()))
	for steps < lifeSteps {
		steps++
		if found := l.take(ctx, i.chooseStep(l.machine.Node(), choose)); found != nil {
			return found, steps
		}
	}
	return l.explain(), steps
}
