// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// recording is hardware that records a boot device on the node, and may fail then.
type recording struct {
	*conductor.Fake
	err error
}

func (h recording) SetBootDevice(ctx context.Context, n *conductor.Node, device string, _ bool) error {
	n.DriverInternalInfo = map[string]any{"device": device}
	return errors.Join(unfenced(ctx), h.err)
}

func TestWhatHardwareRecordsOfABootDeviceIsStoredAlsoIfItFails(t *testing.T) {
	for _, failure := range []error{nil, errors.New("no answer")} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync, c.Hardware = true, map[string]conductor.Hardware{"fake-hardware": recording{&conductor.Fake{}, failure}}
			})
			n := f.node(states.Manageable)
			err := f.SetBootDevice(f.ctx, n.UUID, "pxe", true)
			require.ErrorIs(t, err, failure)
			n, err = f.Node(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", n.DriverInternalInfo["device"])
			require.Empty(t, n.Reservation)
		})
	}
}

// slow is hardware that takes long for a boot device.
type slow struct{ *conductor.Fake }

func (slow) SetBootDevice(ctx context.Context, n *conductor.Node, device string, _ bool) error {
	n.DriverInternalInfo = map[string]any{"device": device}
	sleep.For(ctx, 100*time.Second)
	return ctx.Err()
}

func TestABootDeviceIsSetByASlowBMCAlsoForAClientThatHasLeft(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.SkipPowerSync, c.Hardware = true, map[string]conductor.Hardware{"fake-hardware": slow{&conductor.Fake{}}}
			})
			n := f.node(states.Manageable)
			ctx, leave := context.WithCancel(f.ctx)
			defer leave()
			if leaves {
				time.AfterFunc(time.Second, leave)
			}
			require.NoError(t, f.SetBootDevice(ctx, n.UUID, "pxe", true))
			n, err := f.Node(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, "pxe", n.DriverInternalInfo["device"])
		})
	}
}

// heedless is a store that reads and writes although the context has ended, as for a request that was sent before.
type heedless struct{ conductor.Memory }

func (s *heedless) Get(ctx context.Context, kind conductor.Kind, key string) (conductor.Record, error) {
	return s.Memory.Get(context.WithoutCancel(ctx), kind, key)
}

func (s *heedless) Update(ctx context.Context, r conductor.Record) (int64, error) {
	return s.Memory.Update(context.WithoutCancel(ctx), r)
}

// A call that returns in the next work changes nothing of it.
func TestABootDeviceThatIsSetTooLateIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, cleaned := make(chan struct{}), make(chan struct{})
		f := start(t, func(c *conductor.Config) {
			c.Store, c.SkipPowerSync = &heedless{}, true
			c.Hardware["fake-hardware"] = during{c.Hardware["fake-hardware"].(*conductor.Fake), func(n *conductor.Node) {
				<-release
				n.DriverInternalInfo = map[string]any{"device": "pxe"}
			}}
		})
		returns := sync.OnceFunc(func() { close(release) })
		t.Cleanup(returns)
		n := f.node(states.Manageable)
		require.ErrorContains(t, f.SetBootDevice(f.ctx, n.UUID, "pxe", true), "the call does not return")
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "bios.cache_bios_settings" {
				<-cleaned
			}
			return nil
		})
		f.request(n, "clean")
		require.Equal(t, states.Cleaning, f.settle(n).ProvisionState)
		returns()
		synctest.Wait()
		close(cleaned)
		n = f.settle(n)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.Nil(t, n.DriverInternalInfo["device"])
	})
}

// devices is hardware that boots from two devices.
type devices struct{ *conductor.Fake }

func (devices) BootDevices(context.Context, *conductor.Node) ([]string, error) {
	return []string{"pxe", "uefihttp"}, nil
}

func (devices) SetBootDevice(ctx context.Context, _ *conductor.Node, _ string, _ bool) error {
	return unfenced(ctx)
}

func TestBootByHTTPIsKnownSince2024_1(t *testing.T) {
	for series, known := range map[states.Series]bool{states.Bobcat: false, states.Caracal: true} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) {
				c.Table = series.Table()
				c.SkipPowerSync, c.Hardware = true, map[string]conductor.Hardware{"fake-hardware": devices{&conductor.Fake{}}}
			})
			n := f.node(states.Manageable)
			got, err := f.BootDevices(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, map[bool][]string{true: {"pxe", "uefihttp"}, false: {"pxe"}}[known], got)

			err = f.SetBootDevice(f.ctx, n.UUID, "uefihttp", false)
			if !known {
				require.ErrorIs(t, err, conductor.Invalid)
				require.ErrorContains(t, err, "Invalid boot device uefihttp specified.")
			} else {
				require.NoError(t, err)
			}
			require.NoError(t, f.SetBootDevice(f.ctx, n.UUID, "pxe", false))
		})
	}
}

// While one call for a boot device hangs, the other one is answered: the devices are a list, which asks no BMC.
func TestABootDeviceThatHangsHidesNoListOfDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan bool)
		f := start(t, func(c *conductor.Config) {
			c.SkipPowerSync, c.Hardware = true, map[string]conductor.Hardware{"fake-hardware": hangingRead{&conductor.Fake{}, hangs}}
		})
		t.Cleanup(func() { close(hangs) })
		n := f.node(states.Manageable)
		_, _, err := f.BootDevice(f.ctx, n.UUID)
		require.ErrorContains(t, err, "the call does not return")
		_, _, err = f.BootDevice(f.ctx, n.UUID)
		require.ErrorContains(t, err, "an earlier call for the boot device has not returned yet")
		devices, err := f.BootDevices(f.ctx, n.UUID)
		require.NoError(t, err)
		require.NotEmpty(t, devices)
	})
}

// hangingRead is hardware whose boot device cannot be read.
type hangingRead struct {
	*conductor.Fake
	hangs chan bool
}

func (h hangingRead) BootDevice(context.Context, *conductor.Node) (string, bool, error) {
	<-h.hangs
	return "", false, nil
}

// timed is hardware that records how long it may take.
type timed struct {
	*managed
	limit *time.Duration
}

func (h timed) note(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	*h.limit = time.Until(deadline)
	return nil
}

func (h timed) InjectNMI(ctx context.Context, _ *conductor.Node) error { return h.note(ctx) }

func (h timed) SetBootDevice(ctx context.Context, _ *conductor.Node, _ string, _ bool) error {
	return h.note(ctx)
}

func (h timed) VirtualMedia(ctx context.Context, _ *conductor.Node) ([]conductor.VirtualMedia, error) {
	return nil, h.note(ctx)
}

// A slow BMC may take longer than others for what needs many requests, also for the client of another conductor.
func TestHowLongAClientsCallOfTheHardwareMayTake(t *testing.T) {
	const slow, server = 110 * time.Second, 120 * time.Second // WriteTimeout in the documentation of package api
	require.Less(t, slow, conductor.ForwardTimeout)
	require.Less(t, conductor.ForwardTimeout, server)
	synctest.Test(t, func(t *testing.T) {
		var limit time.Duration
		k := startKinds(t, func(c *conductor.Config) {
			c.SkipPowerSync, c.Hardware[c.Name] = true, timed{&managed{Fake: &conductor.Fake{}}, &limit}
		})
		k.each(states.Manageable, func(by *conductor.Conductor, n *conductor.Node) {
			require.NoError(t, by.Management(n.UUID).InjectNMI(k.ctx))
			require.Equal(t, time.Minute, limit)
			require.NoError(t, by.SetBootDevice(k.ctx, n.UUID, "pxe", true))
			require.Equal(t, slow, limit)
			_, err := by.Management(n.UUID).VirtualMedia(k.ctx)
			require.NoError(t, err)
			require.Equal(t, slow, limit)
		})
	})
}
