// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func BenchmarkAll(b *testing.B) {
	for _, c := range suite {
		for who, run := range c.run {
			if run != nil {
				b.Run(c.name+"/"+names[who], run)
			}
		}
	}
}

func BenchmarkRivals(b *testing.B) {
	for _, r := range rivals {
		b.Run(r.name, r.bench)
	}
}

func TestEveryRivalWalksThePath(t *testing.T) {
	for _, r := range rivals {
		w := r.begin()
		require.Equal(t, "enroll", w.state(), r.name)
		for _, s := range slices.Concat(startSteps, roundSteps) {
			require.NoError(t, w.fire([]step{s}), r.name)
			require.Equal(t, s.to.String(), w.state(), "%s after %v", r.name, s.event)
		}
		err := w.fire([]step{{event: states.EventWait, to: states.DeployWait}})
		require.Equal(t, r.name != "felixgeelhaar/statekit", err != nil, r.name)
		require.Equal(t, "manageable", w.state(), r.name)
	}
}

func TestSizes(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(machine.Node{}), uintptr(32))
	require.LessOrEqual(t, unsafe.Sizeof(machine.Machine{}), uintptr(256))
}

func TestNewAllocatesLittle(t *testing.T) {
	build := func() {
		m, err := newMachine(false, true)
		if err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(m)
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, build), 2.0)

	const machines = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range machines {
		build()
	}
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/machines, uint64(256), "bytes a machine")
}

func TestMovingAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for name, hooks := range map[string]bool{"without hooks": false, "with exit and enter hooks": true} {
		m, err := newMachine(hooks, true)
		require.NoError(t, err)
		for _, event := range start {
			require.NoError(t, m.Fire(ctx, event))
		}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for _, event := range round {
				if err := m.Fire(ctx, event); err != nil {
					t.Fatal(err)
				}
			}
		}), name)
	}

	node := machine.Node{State: states.Manageable}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, event := range round {
			next, err := node.Apply(table, machine.Input{Event: event})
			if err != nil {
				t.Fatal(err)
			}
			node = next
		}
	}), "Apply")
}

func TestAnEventOfAMachineCostsLittleMoreThanAnArrayUnderAMutex(t *testing.T) {
	needs.Chance(t)
	require.NoError(t, flag.Set("test.benchtime", "200ms"))
	var benches []bench
	for _, name := range []string{"an array under a mutex", "Machine.Fire", "hishamk/statetrooper"} {
		r := rivals[slices.IndexFunc(rivals, func(r rival) bool { return r.name == name })]
		benches = append(benches, bench{r.name, r.bench})
	}
	medians, err := measure(15, benches)
	require.NoError(t, err)
	array, fire, statetrooper := medians[0], medians[1], medians[2]
	t.Logf("an event: an array under a mutex %v; Machine.Fire %v; statetrooper %v", array, fire, statetrooper)
	require.LessOrEqual(t, fire.ns, 2.2*array.ns, "Machine.Fire: %v; an array under a mutex: %v", fire, array)
}

func TestTheReportIsATable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, report(&out, 1, "1x"))
	text := out.String()
	for _, want := range []string{
		"| Fire |", "| Fire, exit and enter hooks |", "| Apply |", "| New |",
		"looplab/fsm v1.0.3", "qmuntal/stateless v1.8.0", runtime.Version(), "A Node is 24 bytes",
		"| an array |", "| an array under a mutex |", "| Node.Apply |", "| Machine.Fire |", "| hishamk/statetrooper v0.1.4 |",
		"| filanov/stateswitch v1.0.1 |", "| cocoonspace/fsm v1.0.1 |", "| felixgeelhaar/statekit v1.0.1 |", "| anggasct/fluo v1.0.0 |",
	} {
		require.Contains(t, text, want)
	}
}
