// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// keeping is a hardware type that keeps the task of an inspection.
type keeping struct {
	*conductor.Fake
	inspect func(context.Context, *conductor.Task) error
}

func (k *keeping) Steps(n *conductor.Node, work states.Work) []conductor.Step {
	if work != states.WorkInspect {
		return k.Fake.Steps(n, work)
	}
	return []conductor.Step{{Interface: "inspect", Step: "inspect_hardware", Priority: 100, Run: k.inspect}}
}

// An operation returns the error of a Task of other work, whose end does not say that this work has lost its node.
func TestWorkFailsThatReturnsTheErrorOfAnotherTask(t *testing.T) {
	note := func(n *conductor.Node) error { n.Extra = map[string]any{"a": "b"}; return nil }
	for name, inspect := range map[string]func(*conductor.Memory, *func() error) func(context.Context, *conductor.Task) error{
		"the work of this task has ended": func(_ *conductor.Memory, late *func() error) func(context.Context, *conductor.Task) error {
			return func(_ context.Context, kept *conductor.Task) error {
				*late = func() error { return kept.Update(context.Background(), note) }
				return nil
			}
		},
		"the reservation was lost": func(store *conductor.Memory, late *func() error) func(context.Context, *conductor.Task) error {
			return func(ctx context.Context, kept *conductor.Task) error {
				_, err := store.Delete(ctx, conductor.KindNode, kept.Node().UUID, kept.Node().Revision)
				failure := kept.Update(ctx, note)
				*late = func() error { return failure }
				return err
			}
		},
	} {
		for _, test := range []struct {
			from, failed      states.State
			target, operation string
		}{
			{states.Manageable, states.CleanFail, "provide", "prepare"},
			{states.Active, states.Error, "deleted", "power off"},
			{states.Available, states.DeployFail, "active", "power off"}, // by the clean-up after its timeout
			{states.Manageable, states.Manageable, "", "power off"},
		} {
			synctest.Test(t, func(t *testing.T) {
				var late func() error
				store := &conductor.Memory{}
				m := startMachine(t, test.from, func(c *conductor.Config) {
					c.Store = store
					c.Hardware["fake-hardware"] = &keeping{c.Hardware["fake-hardware"].(*conductor.Fake), inspect(store, &late)}
				})
				m.request(m.create(conductor.Node{ProvisionState: states.Manageable}), "inspect")
				bubble.Sleep(time.Minute)
				failure := late()
				require.ErrorContains(t, failure, name)
				require.NoError(t, m.fake.SetPower(m.ctx, m.n, states.PowerOn))

				operations := 0
				m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation != test.operation {
						return nil
					}
					operations++
					time.Sleep(time.Second)
					return failure
				})
				if test.target == "" {
					require.NoError(t, m.SetPower(m.ctx, m.n.UUID, states.PowerOff, 0))
				} else {
					m.request(m.n, test.target)
				}
				bubble.Sleep(2 * time.Hour)
				n := m.settle(m.n)
				require.Equal(t, test.failed, n.ProvisionState, "%s: %+v", name, test)
				require.Contains(t, n.LastError, name, test)
				require.Empty(t, n.Reservation)
				require.Nil(t, n.CleanUp)
				require.Equal(t, 1, operations)
			})
		}
	}
}
