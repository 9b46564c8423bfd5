// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// tornDown is fake-hardware that records what is done on a machine, of which one operation fails.
type tornDown struct {
	*conductor.Fake
	done  []string
	fails string
	hangs string // the operation that ends with its context
}

func (h *tornDown) do(ctx context.Context, operation string) error {
	h.done = append(h.done, operation)
	if operation == h.fails {
		return errors.New("no answer")
	}
	return unfenced(ctx)
}

func (h *tornDown) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	if err := h.do(ctx, power.String()); err != nil {
		return err
	}
	return h.Fake.SetPower(ctx, n, power)
}

func (h *tornDown) CleanUpAgent(ctx context.Context, _ *conductor.Task) error {
	if h.hangs == "clean up" {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.do(ctx, "clean up")
}

func (h *tornDown) PrepareInstance(ctx context.Context, _ *conductor.Task) error {
	return h.do(ctx, "boot the disk")
}

// written is a store that keeps what was written by updates.
type written struct {
	*conductor.Memory
	mu      sync.Mutex
	records []string
}

func (w *written) Update(ctx context.Context, r conductor.Record) (int64, error) {
	w.mu.Lock()
	w.records = append(w.records, string(r.Value))
	w.mu.Unlock()
	return w.Memory.Update(ctx, r)
}

func TestTheCleanUpAfterFailedWork(t *testing.T) {
	all := conductor.CleanUp{PowerOff: true, Ramdisk: true, Instance: true}
	for name, test := range map[string]struct {
		cleanUp   conductor.CleanUp
		state     states.State
		stays     bool // disable_power_off
		fails     string
		done      string
		lastError string
	}{
		"all":                      {all, states.ServiceFail, false, "", "power off, clean up, boot the disk, power on", "failed"},
		"all of one that stays on": {all, states.ServiceFail, true, "", "clean up, boot the disk, rebooting", "failed"},
		"power off":                {conductor.CleanUp{PowerOff: true}, states.RescueFail, false, "", "power off", "failed"},
		"the ramdisk":              {conductor.CleanUp{Ramdisk: true}, states.CleanFail, false, "", "clean up", "failed"},
		"the ramdisk and the power": {
			conductor.CleanUp{PowerOff: true, Ramdisk: true},
			states.CleanFail, false, "", "power off, clean up", "failed",
		},
		"a failing power off": {
			all, states.ServiceFail, false, "power off", "power off", "failed. Also Failed to tear down service on node UUID, reason: no answer",
		},
		"a failing clean-up": {
			all, states.CleanFail, false, "clean up", "power off, clean up",
			"failed. Also Failed to tear down cleaning on node UUID, reason: no answer",
		},
		"a failing instance": {
			all, states.InspectFail, false, "boot the disk", "power off, clean up, boot the disk",
			"failed. Also Failed to abort inspection on node UUID, reason: no answer",
		},
		"a failing power off of a rescue": {
			conductor.CleanUp{PowerOff: true}, states.RescueFail, false, "power off", "power off",
			"Rescue operation was unsuccessful, clean up failed for node: no answer",
		},
		"a failing power on": {
			all, states.DeployFail, false, "power on", "power off, clean up, boot the disk, power on",
			"failed. Also failed to clean up due to: no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware, store := &tornDown{fails: test.fails}, &written{Memory: &conductor.Memory{}}
				f := start(t, func(c *conductor.Config) {
					c.Store = store
					hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
					c.Hardware["fake-hardware"] = hardware
					c.SkipPowerSync = true
				})
				n, err := f.CreateNode(f.ctx, &conductor.Node{
					Driver:          "fake-hardware",
					ProvisionState:  test.state,
					Power:           states.PowerOn,
					LastError:       "failed",
					DisablePowerOff: test.stays,
					CleanUp:         &test.cleanUp,
				})
				require.NoError(t, err)
				bubble.Sleep(10 * time.Second)
				n = f.settle(n)
				require.Equal(t, test.done, strings.Join(hardware.done, ", "))
				require.Equal(t, strings.ReplaceAll(test.lastError, "UUID", n.UUID), n.LastError)
				var entries []string
				if test.state == states.RescueFail && test.fails != "" {
					entries = []string{"ERROR rescue"}
				}
				require.Equal(t, entries, f.entries(n), "its history has a failed clean-up only of a rescue, as in Ironic")
				require.Nil(t, n.CleanUp)
				last := store.records[len(store.records)-1]
				require.NotContains(t, last, `"reservation"`)
				for _, record := range store.records[:len(store.records)-1] {
					require.Contains(t, record, `"clean_up"`, "the write that ends the clean-up also drops the reservation")
				}
			})
		})
	}
}

func TestAConductorThatStopsLeavesTheCleanUpToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, hardware := &conductor.Memory{}, &tornDown{Fake: &conductor.Fake{}, hangs: "clean up"}
		config := conductor.Config{
			Store: store, Hardware: map[string]conductor.Hardware{"fake-hardware": hardware}, SkipPowerSync: true, ShutdownTimeout: time.Second,
		}
		run := func(f func(ctx context.Context, c *conductor.Conductor)) {
			c, err := conductor.New(config)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- c.Run(ctx) }()
			require.NoError(t, c.Ready(ctx))
			f(ctx, c)
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
		}
		var id string
		run(func(ctx context.Context, c *conductor.Conductor) {
			n, err := c.CreateNode(ctx, &conductor.Node{
				Driver:         "fake-hardware",
				ProvisionState: states.CleanFail,
				Power:          states.PowerOn,
				LastError:      "failed",
				CleanUp:        &conductor.CleanUp{PowerOff: true, Ramdisk: true},
			})
			require.NoError(t, err)
			id = n.UUID
			bubble.Sleep(10 * time.Second)
		})
		hardware.hangs = ""
		run(func(ctx context.Context, c *conductor.Conductor) {
			bubble.Sleep(10 * time.Second)
			n, err := c.Node(ctx, id)
			require.NoError(t, err)
			require.Nil(t, n.CleanUp)
			require.Equal(t, "failed", n.LastError)
			require.Equal(t, []string{"power off", "clean up"}, hardware.done)
		})
	})
}
