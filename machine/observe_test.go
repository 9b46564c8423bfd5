// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package machine_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestHistoryKeepsTheLastTransitions(t *testing.T) {
	tick := time.Unix(0, 0)
	m := newMachine(t, states.Enroll, func(c *machine.Config) {
		c.History = 3
		c.Now = func() time.Time { tick = tick.Add(time.Second); return tick }
	})
	require.Empty(t, m.History())
	for _, event := range []states.Event{states.EventManage, states.EventFail, states.EventManage, states.EventDone, states.EventInspect} {
		require.NoError(t, m.Fire(t.Context(), event))
	}
	history := m.History()
	var got []states.Event
	for _, step := range history {
		got = append(got, step.Event)
	}
	require.Equal(t, []states.Event{states.EventManage, states.EventDone, states.EventInspect}, got)
	require.Equal(t, time.Unix(5, 0), history[2].Time)
	history[0].Node = "changed"
	require.Equal(t, "node-1", m.History()[0].Node, "the slice is the caller's own")
}

func TestTransitionsHaveATime(t *testing.T) {
	m := newMachine(t, states.Enroll, func(c *machine.Config) { c.History = 1 })
	require.NoError(t, m.Fire(t.Context(), states.EventManage))
	require.False(t, m.History()[0].Time.IsZero())
}

func TestAMachineIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(machine.Machine{}), uintptr(256))
}

func TestMovingDoesNotAllocate(t *testing.T) {
	nothing := []machine.Hook{func(context.Context, machine.Transition) error { return nil }}
	for name, m := range map[string]*machine.Machine{
		"without hooks":             newMachine(t, states.Verifying),
		"with a history":            newMachine(t, states.Verifying, func(c *machine.Config) { c.History = 4 }),
		"with exit and enter hooks": newMachine(t, states.Verifying, func(c *machine.Config) { c.Exit, c.Enter = nothing, nothing }),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			require.Zero(t, testing.AllocsPerRun(100, func() {
				_ = m.Fire(ctx, states.EventFail)
				_ = m.Fire(ctx, states.EventManage)
			}))
		})
	}
	for name, m := range map[string]*machine.Machine{
		"a request and a report": newMachine(t, states.Enroll),
		"observed":               newMachine(t, states.Enroll, func(c *machine.Config) { c.Enter = nothing }),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			require.Zero(t, testing.AllocsPerRun(100, func() {
				_ = m.Request(ctx, "manage", 115)
				_ = m.Report(ctx, states.EventFail, "no power")
			}))
		})
	}
	n := machine.Node{State: states.Enroll}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		verifying, _ := n.Request(latest, "manage", 115)
		_, _ = verifying.Report(latest, states.EventFail, "no power")
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = n.Apply(latest, machine.Input{Event: states.EventManage}) }))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = machine.New(machine.Config{Table: latest, Node: n}) }), 2.0)
}
