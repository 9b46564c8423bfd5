// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// slowSteps is a hardware type whose next answer about its steps comes when the gate opens.
type slowSteps struct {
	real
	gate *atomic.Pointer[chan struct{}]
}

func (s slowSteps) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if gate := s.gate.Swap(nil); gate != nil {
		<-*gate
	}
	return s.real.Steps(n, work)
}

// A heartbeat that ends the built-in step "wait" does not end the step that waits when the hardware type has answered
// late.
func TestALateHeartbeatEndsNoOtherStep(t *testing.T) {
	for name, status := range map[string]string{"done": "", "failed": "error"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lateHeartbeat(t, status) })
		})
	}
}

func lateHeartbeat(t *testing.T, status string) {
	gate := &atomic.Pointer[chan struct{}]{}
	f := start(t, func(c *conductor.Config) {
		c.SkipPowerSync = true
		c.AutomatedCleaning = conductor.AutomatedCleaning{Source: conductor.StepsOfRunbook, Runbook: "book"}
		erase := conductor.Step{Interface: "deploy", Step: "erase", Priority: 10, Run: func(context.Context, *conductor.Task) error {
			return conductor.ErrWait
		}}
		c.Hardware = map[string]conductor.Hardware{"fake-hardware": slowSteps{
			real{c.Hardware["fake-hardware"].(*conductor.Fake), map[states.Work][]conductor.Step{states.WorkClean: {erase}}}, gate,
		}}
	})
	_, err := f.CreateObject(f.ctx, &conductor.Runbook{
		ObjectMeta: conductor.ObjectMeta{Name: "book"}, Traits: []string{"book"}, Steps: []conductor.RunbookStep{
			{Interface: "deploy", Step: "wait", Order: 0}, {Interface: "deploy", Step: "erase", Order: 1},
		},
	})
	require.NoError(t, err)
	n := f.create(conductor.Node{ProvisionState: states.Manageable, Power: states.PowerOff, Traits: []string{"book"}})
	f.request(n, "provide")
	n = f.settle(n)
	require.Equal(t, states.CleanWait, n.ProvisionState, n.LastError)
	require.Equal(t, "wait", n.Step().Step)

	_, token, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
	require.NoError(t, err)
	beat := conductor.Heartbeat{From: agentAt, CallbackURL: "https://10.0.0.7:9999", AgentVersion: "9.1", AgentToken: token}
	opens, late := make(chan struct{}), make(chan error, 1)
	gate.Store(&opens)
	go func() {
		first := beat
		first.AgentStatus = status
		late <- f.Heartbeat(f.ctx, n.UUID, first)
	}()
	synctest.Wait()
	require.NoError(t, f.Heartbeat(f.ctx, n.UUID, beat))
	n = f.settle(n)
	require.Equal(t, "erase", n.Step().Step)
	close(opens)
	require.NoError(t, <-late)
	n = f.settle(n)
	require.Equal(t, states.CleanWait, n.ProvisionState, n.LastError)
	require.Equal(t, "erase", n.Step().Step)
}
