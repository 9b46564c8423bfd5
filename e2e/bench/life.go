// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// perEvent is the metric of the processor time of one event, or of the creation of one machine.
const perEvent = "cpu-ns/event"

// perOperation is the metric of the number of events in an operation of package testing.
const perOperation = "events/op"

// measureLoop calls f, which fires some events, and reports the processor time of one event. It
// includes the garbage collector's and, unlike the elapsed time, excludes other processes'.
func measureLoop(b *testing.B, events int, f func()) {
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N*events), perEvent)
	b.ReportMetric(float64(events), perOperation)
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	var used unix.Timespec
	must(b, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used))
	return time.Duration(used.Nano())
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}
