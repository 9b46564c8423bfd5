// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// A step of a tear-down leaves a goroutine, which changes the node in the cleaning that follows.
func TestWhatAStepHasLeftChangesNothingInTheNextWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		describe := func(n *conductor.Node) error { n.Description += "changed"; return nil }
		cleaning, late := make(chan struct{}), make(chan error)
		f := start(t, withReal(map[states.Work][]conductor.Step{
			states.WorkDelete: {{
				Interface: "deploy", Step: "tear_down", Priority: 100,
				Run: func(ctx context.Context, task *conductor.Task) error {
					go func() {
						<-cleaning
						late <- task.Update(context.WithoutCancel(ctx), describe)
					}()
					return task.Update(ctx, describe)
				},
			}},
			states.WorkClean: {{
				Interface: "deploy", Step: "erase_devices", Priority: 100,
				Run: func(ctx context.Context, task *conductor.Task) error {
					close(cleaning)
					if err := <-late; err == nil {
						return nil
					}
					return task.Update(ctx, func(n *conductor.Node) error { n.Extra = map[string]any{"cleaned": true}; return nil })
				},
			}},
		}))
		n := f.node(states.Active)
		f.request(n, "deleted")
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState, got.LastError)
		require.Equal(t, "changed", got.Description)
		require.Equal(t, map[string]any{"cleaned": true}, got.Extra)
	})
}

// A node's revision and the time of its creation are not a step's.
func TestAStepDoesNotChangeTheRevisionOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		f := start(t, withReal(map[states.Work][]conductor.Step{states.WorkClean: {{
			Interface: "deploy", Step: "erase_devices", Priority: 100,
			Run: func(ctx context.Context, task *conductor.Task) error {
				return task.Update(ctx, func(n *conductor.Node) error {
					if calls++; calls > 1 {
						return context.Canceled
					}
					n.Revision, n.CreatedAt, n.Description = 0, time.Time{}, "changed"
					return nil
				})
			},
		}}}))
		n := f.node(states.Manageable)
		f.request(n, "provide")
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState, got.LastError)
		require.Equal(t, "changed", got.Description)
		require.Equal(t, n.CreatedAt, got.CreatedAt)
		require.Equal(t, 1, calls)
	})
}
