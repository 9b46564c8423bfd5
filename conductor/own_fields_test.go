// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// ownFields are changes of what the conductor alone writes, by field.
var ownFields = map[string]func(*conductor.Node){
	"uuid":                   func(n *conductor.Node) { n.UUID = "00000000-0000-4000-8000-000000000001" },
	"provision_state":        func(n *conductor.Node) { n.ProvisionState = states.Active },
	"target_provision_state": func(n *conductor.Node) { n.TargetProvisionState = states.Rescue },
	"reservation":            func(n *conductor.Node) { n.Reservation = "someone" },
	"claim":                  func(n *conductor.Node) { n.Claim = "someone" },
	"transitions": func(n *conductor.Node) {
		n.Transitions = append(n.Transitions, conductor.TransitionRecord{To: states.Active})
	},
}

func TestAnUpdateOfANodeChangesNothingThatTheConductorAloneWrites(t *testing.T) {
	for field, change := range ownFields {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			n := f.create(conductor.Node{ProvisionState: states.Manageable})
			_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Owner = "me"; change(n); return nil })
			require.ErrorIs(t, err, conductor.Invalid, field)
			require.ErrorContains(t, err, field)
			got := f.settle(n)
			require.Equal(t, states.Manageable, got.ProvisionState)
			require.Equal(t, n.Revision, got.Revision, "nothing is stored")
		})
	}
}

// stepping has one clean step.
type stepping struct {
	*conductor.Fake
	run func(context.Context, *conductor.Task) error
}

func (h stepping) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkClean {
		return h.Fake.Steps(n, work)
	}
	return []conductor.Step{{Interface: "deploy", Step: "x", Priority: 10, Run: h.run}}
}

func TestAStepChangesNothingThatTheConductorAloneWrites(t *testing.T) {
	for field, change := range ownFields {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Hardware["fake-hardware"] = stepping{&conductor.Fake{}, func(ctx context.Context, task *conductor.Task) error {
					return task.Update(ctx, func(n *conductor.Node) error { n.Owner = "me"; change(n); return nil })
				}}
			})
			n := f.create(conductor.Node{ProvisionState: states.Manageable})
			f.request(n, "provide")
			got := f.settle(n)
			require.Equal(t, states.CleanFail, got.ProvisionState, field)
			require.Contains(t, got.LastError, field)
			require.Equal(t, n.UUID, got.UUID)
			require.Empty(t, got.Owner)
		})
	}
}

// The time since when the node is in its state identifies the work.
func TestAStepThatSetsTheTimeOfItsStateDoesNotEndItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) {
			c.Hardware["fake-hardware"] = stepping{&conductor.Fake{}, func(ctx context.Context, task *conductor.Task) error {
				set := func(at *time.Time) error {
					return task.Update(ctx, func(n *conductor.Node) error { n.ProvisionUpdatedAt = at; return nil })
				}
				return errors.Join(set(&time.Time{}), set(nil), errors.New("the disk is broken"))
			}}
		})
		n := f.create(conductor.Node{ProvisionState: states.Manageable})
		f.request(n, "provide")
		bubble.Sleep(time.Minute)
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.True(t, strings.HasSuffix(got.LastError, ": the disk is broken"), got.LastError)
	})
}

func TestAStepWritesNothingOnceItsWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late *conductor.Task
		f := start(t, func(c *conductor.Config) {
			c.Hardware["fake-hardware"] = stepping{&conductor.Fake{}, func(_ context.Context, task *conductor.Task) error {
				late = task
				return nil
			}}
		})
		n := f.create(conductor.Node{ProvisionState: states.Manageable})
		f.request(n, "provide")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
		err := late.Update(f.ctx, func(n *conductor.Node) error { n.Owner = "late"; return nil })
		require.EqualError(t, err, "the work of this task has ended")
		f.request(n, "active")
		bubble.Sleep(time.Nanosecond)
		require.Error(t, late.Update(f.ctx, func(n *conductor.Node) error { n.Owner = "late"; return nil }))
		require.Empty(t, f.settle(n).Owner)
	})
}
