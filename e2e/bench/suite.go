// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/qmuntal/stateless"
)

// A contender is a state machine package in one mode of use.
type contender int

const (
	ours contender = iota
	looplabs
	queued    // stateless as returned by its NewStateMachine
	immediate // stateless without its queue, for callers that fire one event at a time
	numContenders
)

var names = [numContenders]string{"machine", "looplab", "stateless", "stateless-immediate"}

// A contest is one benchmark, with a function for each contender. The function is nil if
// the contender does not support the benchmark.
type contest struct {
	name string
	run  [numContenders]func(*testing.B)
}

var suite = []contest{
	{"Fire", fireAll(false)},
	{"FireWithHooks", fireAll(true)},
	{"FireTimed", [numContenders]func(*testing.B){ours: func(b *testing.B) { newFire(true, true).bench(b) }}},
	{"Apply", [numContenders]func(*testing.B){ours: func(b *testing.B) { newNode().bench(b) }}},
	{"New", [numContenders]func(*testing.B){ours: makeMachine, looplabs: makeLooplab, queued: makeStateless}},
}

func fireAll(hooks bool) [numContenders]func(*testing.B) {
	return [numContenders]func(*testing.B){
		ours:      func(b *testing.B) { newFire(hooks, false).bench(b) },
		looplabs:  func(b *testing.B) { newLooplabWalker(hooks).bench(b) },
		queued:    func(b *testing.B) { newStatelessWalker(stateless.FiringQueued, hooks).bench(b) },
		immediate: func(b *testing.B) { newStatelessWalker(stateless.FiringImmediate, hooks).bench(b) },
	}
}
