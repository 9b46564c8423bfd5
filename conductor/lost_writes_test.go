// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/promises"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// once returns an answer that loses the response to the first write of a node in a state, after elsewhere.
func once(state states.State, elsewhere func()) func(*promises.Version) error {
	lost := false
	return func(written *promises.Version) error {
		if lost || written.State != state {
			return nil
		}
		lost = true
		elsewhere()
		return errNoResponse
	}
}

func TestATransitionWhoseResponseWasLostIsKnownLikeAnyOther(t *testing.T) {
	long := time.Now().Add(-24 * 365 * 100 * time.Hour)
	nothing := func(*fleet, string) error { return nil }
	for name, test := range map[string]struct {
		node    conductor.Node
		do      func(f *fleet, id string) error
		to      states.State
		moves   []string
		entries []string
		dropped int64
	}{
		"a time-out": {
			conductor.Node{ProvisionState: states.DeployWait, ProvisionUpdatedAt: &long}, nothing, states.DeployFail,
			[]string{"wait call-back --fail--> deploy failed"}, []string{"ERROR deploying"}, 0,
		},
		"a take-over": {
			conductor.Node{ProvisionState: states.Deploying, Reservation: "beta", Claim: "a process that died"}, nothing, states.DeployFail,
			[]string{"deploying --fail--> deploy failed"}, []string{"ERROR takeover"}, 1,
		},
		"an abort": {
			conductor.Node{ProvisionState: states.RescueWait},
			func(f *fleet, id string) error { return f.Provision(f.ctx, id, f.provision("abort")) }, states.RescueFail,
			[]string{"rescue wait --abort--> rescue failed"}, []string{"INFO rescue"}, 0,
		},
		"a call-back": {
			conductor.Node{ProvisionState: states.DeployWait},
			func(f *fleet, id string) error { return f.Resume(f.ctx, id, errors.New("no disk")) }, states.DeployFail,
			[]string{"wait call-back --fail--> deploy failed"}, []string{"ERROR deploying"}, 0,
		},
	} {
		for _, followed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, r := &answering{}, &reports{t: t}
					f := start(t, func(c *conductor.Config) {
						c.Store, c.SkipPowerSync, c.OnTransition = store, true, r.during(func(conductor.Transition) {})
					})
					synctest.Wait()
					id := "00000000-0000-4000-8000-000000000001"
					store.answer = once(test.to, func() {
						if followed { // by another writer, without a response that is known to be lost
							require.NoError(t, f.Put(f.ctx, id, func(n *conductor.Node) { n.Description = "X" }))
						}
					})
					test.node.UUID = id
					n := f.create(test.node)
					err := test.do(f, id)
					bubble.Sleep(2 * time.Minute)
					require.Equal(t, test.to, f.settle(n).ProvisionState)
					if followed {
						require.Empty(t, r.all())
						require.Empty(t, f.entries(n))
						return
					}
					require.NoError(t, err)
					require.Equal(t, test.moves, r.all())
					require.Equal(t, test.entries, f.entries(n))
					require.Equal(t, test.dropped, f.Stats().ReservationsDropped)
				})
			})
		}
	}
}

// The data of an inspection are stored, the response is lost, and another writer changes the node before they are
// stored again. The inspection goes on, and the repetition does not end it.
func TestTheDataOfAnInspectionContinueItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, r, ran := &answering{}, &reports{t: t}, 0
		f := start(t, func(c *conductor.Config) {
			withReal(map[states.Work][]conductor.Step{states.WorkInspect: {{
				Interface: "inspect", Step: "inspect_hardware", Priority: 100,
				Run: func(context.Context, *conductor.Task) error { return conductor.ErrWait },
			}, {
				Interface: "inspect", Step: "inspect_later", Priority: 50,
				Run: func(context.Context, *conductor.Task) error { ran++; return nil },
			}}})(c)
			c.Store, c.SkipPowerSync, c.OnTransition = store, true, r.during(func(conductor.Transition) {})
		})
		n := f.inspecting(nil, "52:54:00:00:00:0a")
		store.answer = once(states.Inspecting, func() {
			time.Sleep(time.Second) // the other write has another time
			require.NoError(t, f.Put(f.ctx, n.UUID, func(n *conductor.Node) { n.Description = "X" }))
		})
		data := map[string]any{"inventory": map[string]any{"interfaces": []any{
			map[string]any{"name": "eth0", "mac_address": "52:54:00:00:00:0a"},
		}}}
		_, _, err := f.ContinueInspection(f.ctx, agentAt, data, n.UUID, false)
		require.NoError(t, err)
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, "X", got.Description)
		require.Equal(t, []string{
			"manageable --inspect--> inspecting", "inspecting --wait--> inspect wait",
			"inspect wait --resume--> inspecting", "inspecting --done--> manageable",
		}, r.all())
		require.Equal(t, 1, ran)
		require.Zero(t, f.Stats().BusyWorkers)
	})
}

// The abort of a service has two transitions.
func TestBothTransitionsOfOneWriteAreReportedThoughTheRecordKeepsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{t: t}
		f := start(t, func(c *conductor.Config) {
			c.MaxTransitions, c.OnTransition = 1, r.during(func(conductor.Transition) {})
		})
		n := f.node(states.ServiceWait)
		f.request(n, "abort")
		got := f.settle(n)
		require.Equal(t, states.Active, got.ProvisionState)
		require.Equal(t, []string{"service wait --abort--> service failed", "service failed --abort--> active"}, r.all())
		f.request(n, "service")
		got = f.settle(n)
		require.Equal(t, states.Active, got.ProvisionState, got.LastError)
		require.Len(t, got.Transitions, 1)
	})
}
