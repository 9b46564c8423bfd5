// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// bounded is a store that accepts records up to a size.
type bounded struct {
	conductor.Memory
	limit   atomic.Int64 // in bytes; 0 for none
	refused atomic.Int32
}

func (s *bounded) Update(ctx context.Context, r conductor.Record) (int64, error) {
	if limit := s.limit.Load(); limit > 0 && r.Kind == conductor.KindNode && int64(len(r.Value)) > limit {
		s.refused.Add(1)
		return 0, fmt.Errorf("refused: %w", conductor.ErrTooLarge)
	}
	return s.Memory.Update(ctx, r)
}

// full makes the store accept no node's record that is larger than a node's present one.
func (s *bounded) full(id string) error {
	r, err := s.Get(context.Background(), conductor.KindNode, id)
	s.limit.Store(int64(len(r.Value)))
	return err
}

// large makes a node's record a large one.
func large(t *testing.T, f *fleet, n *conductor.Node) {
	_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
		n.Extra = map[string]any{"notes": strings.Repeat("x", 600<<10)}
		return nil
	})
	require.NoError(t, err)
}

func TestARequestWhoseRecordIsTooLargeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &bounded{}
		f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
		n := f.node(states.Manageable)
		large(t, f, n)
		before := f.settle(n)
		require.NoError(t, store.full(n.UUID))
		for name, request := range map[string]func() error{
			"provision": func() error { return f.Provision(f.ctx, n.UUID, f.provision("clean")) },
			"power":     func() error { return f.SetPower(f.ctx, n.UUID, states.PowerOn, 0) },
			"update": func() error {
				_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error { n.Description = "rack 7"; return nil })
				return err
			},
		} {
			err := request()
			require.ErrorIs(t, err, conductor.ErrTooLarge, name)
			require.Equal(t, http.StatusRequestEntityTooLarge, conductor.HTTPStatus(err), name)
			require.Equal(t, before, f.settle(n), name)
			require.Zero(t, f.Stats().BusyWorkers, name)
		}
	})
}

// Such a record would be refused at every try, and the work would keep its node and its worker for ever.
func TestWorkWhoseRecordIsTooLargeFails(t *testing.T) {
	many := strings.Repeat("x", 64<<10)
	caches := func(t *testing.T, store *bounded, state states.State, request string) (*fleet, *conductor.Node) {
		hardware := newCaching("1")
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync = store, true
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		})
		n := f.node(state)
		large(t, f, n)
		hardware.bios = func() ([]conductor.BIOSSetting, error) {
			return []conductor.BIOSSetting{{Name: "v", Value: many}}, store.full(n.UUID)
		}
		f.request(n, request)
		n = f.settle(n)
		require.Empty(t, n.BIOSSettings)
		return f, n
	}
	for name, test := range map[string]struct {
		run  func(*testing.T, *bounded) (*fleet, *conductor.Node)
		want states.State
	}{
		"the end of a verification": {func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			return caches(t, store, states.Enroll, "manage")
		}, states.Enroll},
		"what a cleaning caches": {func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			return caches(t, store, states.Manageable, "clean")
		}, states.CleanFail},
		"the plan of a cleaning": {func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
			n, err := f.CreateNode(f.ctx, &conductor.Node{
				Driver: "fake-hardware", ProvisionState: states.Manageable, Interfaces: map[string]string{"firmware": "fake"},
			})
			require.NoError(t, err)
			large(t, f, n)
			require.NoError(t, store.full(n.UUID))
			store.limit.Add(97 << 10) // for the requested step and the reservation, not for the planned step
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{{Interface: "firmware", Step: "update", Args: map[string]any{
				"settings": []any{map[string]any{"component": "bmc", "url": "https://192.0.2.1/" + many}},
			}}}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			return f, f.settle(n)
		}, states.CleanFail},
		"the data of an inspection": {func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
			n := f.inspecting(nil, "52:54:00:00:01:00")
			large(t, f, n)
			require.NoError(t, store.full(n.UUID))
			store.limit.Add(33 << 10) // for the reservation
			inventory := map[string]any{"interfaces": nics(1, 1), "cpu": map[string]any{"architecture": many}}
			_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, map[string]any{"inventory": inventory}, n.UUID, false)
			require.NoError(t, err)
			return f, f.settle(n)
		}, states.InspectFail},
		"the answer of an agent": {func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = store })
			large(t, m.fleet, m.n)
			m.clean("deploy.erase_devices")
			m.boot()
			m.set(func(a *agentProgram) { a.before = func() { require.NoError(t, store.full(m.n.UUID)) } })
			return m.fleet, m.end("SUCCEEDED", "")
		}, states.CleanFail},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &bounded{}
				f, n := test.run(t, store)
				require.Equal(t, test.want, n.ProvisionState, n.LastError)
				require.Contains(t, n.LastError, "the record is too large for the store")
				require.Empty(t, n.Reservation)
				require.Zero(t, f.Stats().BusyWorkers)
				require.Zero(t, f.Stats().ReportRetries)
				require.EqualValues(t, 1, store.refused.Load())
			})
		})
	}
}
