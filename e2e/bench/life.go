// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/ironstate/ironstate/states"
)

var table = states.Latest().Table()

// The benchmark's path. It begins with enroll, verifying, manageable. Each round then
// visits cleaning, available, deploying, wait call-back, deploying, active, deleting,
// cleaning, available, manageable.
var (
	start = []states.Event{states.EventManage, states.EventDone}
	round = []states.Event{
		states.EventProvide, states.EventDone,
		states.EventDeploy, states.EventWait, states.EventResume, states.EventDone,
		states.EventDelete, states.EventClean, states.EventDone,
		states.EventManage,
	}
)

// perEvent is the metric of a benchmark whose operation is a whole round.
const perEvent = "ns/event"

// live moves a machine from enroll to manageable and then measures rounds.
func live(b *testing.B, fire func([]states.Event) error) {
	must(b, fire(start))
	b.ReportAllocs()
	for b.Loop() {
		must(b, fire(round))
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N*len(round)), perEvent)
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}
