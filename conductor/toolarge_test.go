// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// bounded is a store that accepts records up to a size.
type bounded struct {
	conductor.Memory
	tight   atomic.Bool  // the next write of a reserved node sets the limit to its size
	less    int64        // by which that limit is smaller, as if the record had grown since
	limit   atomic.Int64 // in bytes; 0 for none
	refused atomic.Int32
}

func (s *bounded) Update(ctx context.Context, r conductor.Record) (int64, error) {
	size := int64(len(r.Value))
	if limit := s.limit.Load(); limit > 0 && r.Kind == conductor.KindNode && size > limit {
		s.refused.Add(1)
		return 0, fmt.Errorf("refused: %w", conductor.ErrTooLarge)
	}
	if bytes.Contains(r.Value, []byte(`"claim":`)) && s.tight.CompareAndSwap(true, false) {
		s.limit.Store(size - s.less)
	}
	return s.Memory.Update(ctx, r)
}

// full makes the store accept no node's record that is larger than a node's present one.
func (s *bounded) full(t *testing.T, id string) {
	r, err := s.Get(t.Context(), conductor.KindNode, id)
	require.NoError(t, err)
	s.limit.Store(int64(len(r.Value)))
}

// rewrite puts fields in front of the driver of a node's record, as another process would. The store accepts no node's
// record from now on whose size differs from that by more.
func (s *bounded) rewrite(t *testing.T, id, fields string, more int64) {
	r, err := s.Get(t.Context(), conductor.KindNode, id)
	require.NoError(t, err)
	r.Value = bytes.Replace(r.Value, []byte(`"driver":`), []byte(fields), 1)
	s.limit.Store(int64(len(r.Value)) + more)
	_, err = s.Memory.Update(t.Context(), r)
	require.NoError(t, err)
}

// large makes a node's record a large one.
func large(t *testing.T, f *fleet, n *conductor.Node) {
	_, err := f.UpdateNode(f.ctx, n.UUID, func(n *conductor.Node) error {
		n.Extra = map[string]any{"notes": strings.Repeat("x", 600<<10)}
		if n.ProvisionState == states.Active {
			n.InstanceUUID = "11111111-2222-3333-4444-555555555555"
		}
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
		store.full(t, n.UUID)
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

// Such a record would be refused at every try, and the work would keep its node and its worker for ever. The store
// accepts no record that is larger than the one with which the work begins, or the agent is asked.
// verbose is hardware that records much about a boot device.
type verbose struct{ *conductor.Fake }

func (verbose) SetBootDevice(_ context.Context, n *conductor.Node, _ string, _ bool) error {
	n.DriverInternalInfo = map[string]any{"log": strings.Repeat("x", 300<<10)}
	return nil
}

func TestANodeWhoseBootDeviceIsTooLargeForTheStoreIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &bounded{}
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync, c.Hardware = store, true, map[string]conductor.Hardware{"fake-hardware": verbose{&conductor.Fake{}}}
		})
		n := f.node(states.Manageable)
		large(t, f, n)
		store.full(t, n.UUID)
		store.limit.Add(100 << 10)
		require.ErrorIs(t, f.SetBootDevice(f.ctx, n.UUID, "pxe", true), conductor.ErrTooLarge)
		n, err := f.Node(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Empty(t, n.Reservation)
		require.Empty(t, n.DriverInternalInfo)
	})
}

func TestWorkWhoseRecordIsTooLargeFails(t *testing.T) {
	many := strings.Repeat("x", 64<<10)
	caching := newCaching("1")
	caching.bios = func() ([]conductor.BIOSSetting, error) { return []conductor.BIOSSetting{{Name: "v", Value: many}}, nil }
	machine := func(t *testing.T, store *bounded) *agentNode {
		m := startMachine(t, states.Manageable, func(c *conductor.Config) { c.Store = store })
		large(t, m.fleet, m.n)
		return m
	}
	for name, test := range map[string]struct {
		hardware conductor.Hardware
		state    states.State
		request  string
		run      func(*testing.T, *bounded) (*fleet, *conductor.Node) // nil for the request
		want     states.State
		checks   bool   // the conductor does it at its next check
		text     string // of the last error; empty stands for ErrTooLarge's
	}{
		"the end of a verification": {hardware: caching, state: states.Enroll, request: "manage", want: states.Enroll},
		"what a cleaning caches":    {hardware: caching, state: states.Manageable, request: "clean", want: states.CleanFail},
		"a step of a cleaning":      {hardware: &conductor.Fake{}, state: states.Manageable, request: "clean", want: states.CleanFail},
		"a step of a tear-down":     {hardware: &conductor.Fake{}, state: states.Active, request: "deleted", want: states.Error},
		"the plan of a cleaning": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true })
			n, err := f.CreateNode(f.ctx, &conductor.Node{
				Driver: "fake-hardware", ProvisionState: states.Manageable, Interfaces: map[string]string{"firmware": "fake"},
			})
			require.NoError(t, err)
			large(t, f, n)
			store.tight.Store(true)
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{{Interface: "firmware", Step: "update", Args: map[string]any{
				"settings": []any{map[string]any{"component": "bmc", "url": "https://192.0.2.1/" + many}},
			}}}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			return f, n
		}, want: states.CleanFail},
		"the data of an inspection": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			f := start(t, func(c *conductor.Config) { c.Store, c.SkipPowerSync = store, true; waitsForAgent(c) })
			n := f.inspecting(nil, "52:54:00:00:01:00")
			large(t, f, n)
			store.tight.Store(true)
			inventory := map[string]any{"interfaces": nics(1, 1), "cpu": map[string]any{"architecture": many}}
			_, _, err := f.ContinueInspection(f.ctx, netip.Addr{}, map[string]any{"inventory": inventory}, n.UUID, false)
			require.NoError(t, err)
			return f, n
		}, want: states.InspectFail},
		"the answer of an agent": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := machine(t, store)
			m.clean("deploy.erase_devices", "deploy.erase_devices_metadata")
			m.boot()
			store.less = 1000
			store.tight.Store(true)
			m.end("SUCCEEDED", "")
			return m.fleet, m.n
		}, want: states.CleanFail},
		"an agent that does not boot": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := machine(t, store)
			m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "prepare" {
					return errors.New(many)
				}
				return nil
			})
			store.tight.Store(true)
			m.request(m.n, "clean")
			return m.fleet, m.n
		}, want: states.CleanFail, text: "xxx"},
		"the reservation of a process that has died": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := machine(t, store)
			m.clean("deploy.erase_devices")
			m.boot()
			store.rewrite(t, m.n.UUID, `"reservation":"gamma","claim":"gamma's","driver":`, -1000) // while it lived, the record has grown
			return m.fleet, m.n
		}, want: states.CleanFail, checks: true},
		"the failure with a clean-up": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := machine(t, store)
			m.clean("deploy.erase_devices")
			m.boot()
			store.rewrite(t, m.n.UUID, `"reservation":"gamma","claim":"gamma's","driver":`, -30<<10)
			return m.fleet, m.n
		}, want: states.CleanFail, checks: true, text: "tear down cleaning"},
		"a clean-up that cannot begin": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := startMachine(t, states.CleanFail, func(c *conductor.Config) { c.Store = store })
			large(t, m.fleet, m.n)
			store.rewrite(t, m.n.UUID, `"clean_up":{"power_off":true},"driver":`, 10<<10)
			return m.fleet, m.n
		}, want: states.CleanFail, checks: true, text: "tear down cleaning"},
		"an abort of a node that waits": {run: func(t *testing.T, store *bounded) (*fleet, *conductor.Node) {
			m := machine(t, store)
			m.clean("deploy.erase_devices")
			m.boot()
			store.full(t, m.n.UUID)
			m.request(m.n, "abort")
			return m.fleet, m.n
		}, want: states.CleanFail, text: "abort"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &bounded{}
				var f *fleet
				var n *conductor.Node
				if test.run != nil {
					f, n = test.run(t, store)
				} else {
					f = start(t, func(c *conductor.Config) {
						c.Store, c.SkipPowerSync = store, true
						c.Hardware = map[string]conductor.Hardware{"fake-hardware": test.hardware}
					})
					n = f.node(test.state)
					large(t, f, n)
					store.tight.Store(true)
					f.request(n, test.request)
				}
				if test.checks {
					bubble.Sleep(time.Minute)
				}
				n = f.settle(n)
				require.Equal(t, test.want, n.ProvisionState, n.LastError)
				if test.text == "" {
					require.Contains(t, n.LastError, "the record is too large for the store")
					require.NotZero(t, store.refused.Load())
				} else {
					require.Contains(t, n.LastError, test.text)
				}
				require.Empty(t, n.Reservation)
				require.Nil(t, n.CleanUp)
				require.Empty(t, n.InstanceUUID)
				require.Empty(t, n.BIOSSettings)
				require.Zero(t, f.Stats().BusyWorkers)
				require.Zero(t, f.Stats().ReportRetries)
			})
		})
	}
}
