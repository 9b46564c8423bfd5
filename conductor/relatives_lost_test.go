// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// forgetful is a store that loses its response to one write of a node, or refuses the write.
type forgetful struct {
	conductor.Memory
	refuses bool
	until   atomic.Int64 // the writes up to the one whose response is lost; less than 1 for none
}

func (s *forgetful) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if s.refuses && r.Kind == conductor.KindNode && s.until.Add(-1) == 0 {
		return 0, errNoResponse
	}
	revision, err := s.Memory.Update(ctx, r)
	if !s.refuses && err == nil && r.Kind == conductor.KindNode && s.until.Add(-1) == 0 {
		return 0, errNoResponse
	}
	return revision, err
}

// Whichever response to a write is lost, no node of a family stays locked, and its owner can tell what has become of
// it.
func TestNoLostResponseKeepsThePowerOfAFamilyChanging(t *testing.T) { powerOfAFamily(t, false) }

func TestNoRefusedWriteLeavesAnotherPowerInTheRecordOfAFamily(t *testing.T) { powerOfAFamily(t, true) }

// powerOfAFamily changes the power of a family with each of the writes lost, or refused.
func powerOfAFamily(t *testing.T, refuses bool) {
	for name, test := range map[string]struct {
		power states.Power
		do    func(*family) error
	}{
		"a parent goes off": {states.PowerOn, func(f *family) error {
			return f.SetPower(f.ctx, f.nodes["parent"].UUID, states.PowerOff, 0)
		}},
		"a child goes on": {states.PowerOff, func(f *family) error {
			return f.SetPower(f.ctx, f.nodes["a"].UUID, states.PowerOn, 0)
		}},
		"a step on the children": {states.PowerOn, func(f *family) error {
			return f.Provision(f.ctx, f.nodes["parent"].UUID, f.onChildren("clean", "power", "power_off"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for lost, last := int64(1), false; !last; lost++ {
				synctest.Test(t, func(t *testing.T) {
					store := &forgetful{refuses: refuses}
					f := startFamily(t, states.Hibiscus, test.power, func(c *conductor.Config) { c.Store = store }, map[string]*conductor.Node{
						"a": child(test.power), "b": child(test.power),
					})
					synctest.Wait()
					store.until.Store(lost)
					err := test.do(f)
					bubble.Sleep(time.Minute)
					last = store.until.Swap(0) > 0
					if err != nil {
						require.ErrorIs(t, err, errNoResponse)
					}
					f.free()
					for _, name := range []string{"parent", "a", "b"} {
						n := f.read(name)
						hardware, err := f.fake.PowerState(f.ctx, n)
						require.NoError(t, err)
						require.Equal(t, hardware, n.Power, "%s, write %d", name, lost)
						require.NoError(t, f.SetPower(f.ctx, n.UUID, test.power, 0), "%s, write %d", name, lost)
						synctest.Wait()
					}
				})
			}
		})
	}
}

func TestNoLostResponseOverwritesWhatHasFailed(t *testing.T) {
	for lost, writes := int64(1), int64(1); lost <= writes; lost++ {
		synctest.Test(t, func(t *testing.T) {
			store, a := &forgetful{}, child(states.PowerOn)
			a.ProvisionState, a.LastError = states.DeployFail, "the disk is broken"
			f := startFamily(t, states.Hibiscus, states.PowerOn, func(c *conductor.Config) { c.Store = store }, map[string]*conductor.Node{"a": a})
			synctest.Wait()
			store.until.Store(lost)
			_ = f.SetPower(f.ctx, f.nodes["parent"].UUID, states.PowerOff, 0)
			bubble.Sleep(time.Minute)
			writes = lost - store.until.Load()
			require.Equal(t, "the disk is broken", f.read("a").LastError, "write %d", lost)
		})
	}
}

// A record may have a target power state from a release that dropped the reservation alone.
func TestAChangeOfPowerThatNobodyMakesHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Manageable)
		require.NoError(t, f.Put(f.ctx, n.UUID, func(n *conductor.Node) { n.TargetPower = states.PowerOn }))
		got := f.settle(n)
		require.Equal(t, states.NoPower, got.TargetPower)
		require.Equal(t, "the power state was being changed, and what came of it could not be stored", got.LastError)
		require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOn, 0))
		require.Equal(t, states.PowerOn, f.settle(n).Power)
	})
}
