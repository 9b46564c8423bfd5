// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// managed is fake-hardware with a management interface. It records each call, and returns err.
type managed struct {
	*conductor.Fake
	calls []string
	err   error
	takes time.Duration // to set secure boot
	hangs chan struct{} // setting secure boot returns when it is closed; nil for at once
}

func (m *managed) call(ctx context.Context, name string, args ...any) error {
	m.calls = append(m.calls, strings.TrimSpace(fmt.Sprintln(append([]any{name}, args...)...)))
	return errors.Join(unfenced(ctx), m.err)
}

func (m *managed) InjectNMI(ctx context.Context, _ *conductor.Node) error { return m.call(ctx, "nmi") }

func (m *managed) SetBootMode(ctx context.Context, _ *conductor.Node, mode string) error {
	return m.call(ctx, "boot mode", mode)
}

func (m *managed) SetSecureBoot(ctx context.Context, _ *conductor.Node, enabled bool) error {
	sleep.For(ctx, m.takes)
	if m.hangs != nil {
		<-m.hangs
	}
	return errors.Join(m.call(ctx, "secure boot", enabled), ctx.Err())
}

func (m *managed) VirtualMedia(context.Context, *conductor.Node) ([]conductor.VirtualMedia, error) {
	m.calls = append(m.calls, "virtual media") // a question needs no reservation
	return []conductor.VirtualMedia{{Image: "image", Inserted: true}}, m.err
}

func (m *managed) AttachVirtualMedia(ctx context.Context, _ *conductor.Node, device, image string) error {
	return m.call(ctx, "attach", device, image)
}

func (m *managed) DetachVirtualMedia(ctx context.Context, _ *conductor.Node, devices []string) error {
	return m.call(ctx, "detach", devices)
}

func TestManagementIsRecordedInTheNode(t *testing.T) {
	type change struct {
		ask    func(context.Context, conductor.NodeManagement) error
		call   string
		after  func(*conductor.Node) bool // whether the node has the result
		failed string                     // LastError, without the cause
		listed bool                       // a failure is in the history
	}
	on, off := true, false
	secure := func(want bool) func(*conductor.Node) bool {
		return func(n *conductor.Node) bool { return n.SecureBoot != nil && *n.SecureBoot == want }
	}
	always := func(*conductor.Node) bool { return true }
	for _, c := range []change{
		{func(ctx context.Context, m conductor.NodeManagement) error { return m.SetBootMode(ctx, "uefi") },
			"boot mode uefi", func(n *conductor.Node) bool { return n.BootMode == "uefi" }, "Failed to change boot mode to 'uefi: ", false},
		{func(ctx context.Context, m conductor.NodeManagement) error { return m.SetSecureBoot(ctx, on) },
			"secure boot true", secure(true), "Failed to change secure_boot state to 'True': ", false},
		{func(ctx context.Context, m conductor.NodeManagement) error { return m.SetSecureBoot(ctx, off) },
			"secure boot false", secure(false), "Failed to change secure_boot state to 'False': ", false},
		{func(ctx context.Context, m conductor.NodeManagement) error {
			return m.AttachVirtualMedia(ctx, "cdrom", "image", "http")
		}, "attach cdrom image", always, "Could not attach device cdrom to node UUID: ", true},
		{func(ctx context.Context, m conductor.NodeManagement) error {
			return m.AttachVirtualMedia(ctx, "disk", "image", "")
		},
			"attach disk image", always, "Could not attach device disk to node UUID: ", true},
		{func(ctx context.Context, m conductor.NodeManagement) error {
			return m.DetachVirtualMedia(ctx, []string{"cdrom", "disk"})
		}, "detach [cdrom disk]", always, "Could not detach device(s) ['cdrom', 'disk'] from node UUID: ", true},
		{func(ctx context.Context, m conductor.NodeManagement) error {
			return m.DetachVirtualMedia(ctx, []string{})
		}, "detach []", always, "Could not detach device(s) [] from node UUID: ", true},
		{func(ctx context.Context, m conductor.NodeManagement) error {
			return m.DetachVirtualMedia(ctx, nil)
		}, "detach [disk cdrom floppy]", always, "Could not detach device(s) None from node UUID: ", true},
	} {
		t.Run(c.call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &managed{Fake: &conductor.Fake{}}
				f := start(t, func(config *conductor.Config) { config.Hardware["fake-hardware"] = hardware })
				const uuid = "00000000-0000-4000-8000-000000000001"
				n := f.create(conductor.Node{UUID: uuid, ProvisionState: states.Active, LastError: "an earlier error"})
				failed := strings.ReplaceAll(c.failed, "UUID", uuid)

				hardware.err = errors.New("no answer")
				require.NoError(t, c.ask(f.ctx, f.Management(uuid)), "the failure is recorded")
				require.Equal(t, failed+"no answer", f.settle(n).LastError)

				hardware.err = &conductor.Error{Reason: conductor.Invalid, Text: "invalid"}
				require.ErrorIs(t, c.ask(f.ctx, f.Management(uuid)), conductor.Invalid)
				require.Equal(t, failed+"no answer", f.settle(n).LastError)

				hardware.err = nil
				require.NoError(t, c.ask(f.ctx, f.Management(uuid)))
				require.Equal(t, []string{c.call, c.call, c.call}, hardware.calls)
				require.Empty(t, f.settle(n).LastError)
				require.True(t, c.after(f.settle(n)))
				entries, err := f.History(f.ctx, uuid)
				require.NoError(t, err)
				if !c.listed {
					require.Empty(t, entries)
					return
				}
				require.Len(t, entries, 1)
				require.Equal(t, []string{"ERROR", failed + "no answer", "UNKNOWN"},
					[]string{entries[0].Severity, entries[0].Event, entries[0].EventType})
			})
		})
	}
}

func TestWhatTheManagementInterfaceAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &managed{Fake: &conductor.Fake{}}
		f := start(t, func(config *conductor.Config) { config.Hardware["fake-hardware"] = hardware })
		m := f.Management(f.node(states.Active).UUID)
		require.NoError(t, m.InjectNMI(f.ctx))
		media, err := m.VirtualMedia(f.ctx)
		require.NoError(t, err)
		require.Equal(t, []conductor.VirtualMedia{{Image: "image", Inserted: true}}, media)
		require.Equal(t, []string{"nmi", "virtual media"}, hardware.calls)

		hardware.err = errors.New("no answer")
		require.ErrorIs(t, m.InjectNMI(f.ctx), hardware.err)
		_, err = m.VirtualMedia(f.ctx)
		require.ErrorIs(t, err, hardware.err)
	})
}

// Some BMCs change secure boot in a boot of the machine, which takes longer than a client waits.
func TestAnActionGoesOnWithoutItsCaller(t *testing.T) {
	for name, leaves := range map[string]bool{"a caller who waits": false, "a caller who leaves": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &managed{Fake: &conductor.Fake{}, takes: 14 * time.Minute}
				f := start(t, func(config *conductor.Config) { config.Hardware["fake-hardware"] = hardware })
				n := f.node(states.Active)
				begun := time.Now()
				ctx, cancel := context.WithCancel(f.ctx)
				defer cancel()
				var want error
				if leaves {
					time.AfterFunc(time.Second, cancel)
					want = context.Canceled
				}
				require.ErrorIs(t, f.Management(n.UUID).SetSecureBoot(ctx, true), want)
				require.Less(t, time.Since(begun), time.Minute)
				n, err := f.Node(f.ctx, n.UUID)
				require.NoError(t, err)
				require.NotEmpty(t, n.Reservation)
				require.Nil(t, n.SecureBoot)
				require.ErrorIs(t, f.Management(n.UUID).SetBootMode(f.ctx, "uefi"), conductor.Locked)

				bubble.Sleep(hardware.takes)
				n = f.settle(n)
				require.Empty(t, n.Reservation)
				require.Empty(t, n.LastError)
				require.True(t, *n.SecureBoot)
				require.Zero(t, f.Stats().BusyWorkers)
			})
		})
	}
}

// A call that does not return has failed. If it returns in the next work, that keeps its record.
func TestAnActionThatHangsIsTheLastErrorAndChangesNothingLater(t *testing.T) {
	for name, late := range map[string]error{"it fails at last": errors.New("no answer"), "it succeeds at last": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &managed{Fake: &conductor.Fake{}, hangs: make(chan struct{})}
				f := start(t, func(config *conductor.Config) {
					hardware.Before, config.SkipPowerSync = config.Hardware["fake-hardware"].(*conductor.Fake).Before, true
					config.Hardware["fake-hardware"] = hardware
				})
				returns := sync.OnceFunc(func() { close(hardware.hangs) })
				t.Cleanup(returns)
				n := f.node(states.Manageable)
				require.NoError(t, f.Management(n.UUID).SetSecureBoot(f.ctx, true))
				require.NotEmpty(t, f.settle(n).Reservation)
				bubble.Sleep(20 * time.Minute)
				require.Empty(t, f.settle(n).Reservation)
				require.Equal(t, "Failed to change secure_boot state to 'True': the call does not return: context deadline exceeded",
					f.settle(n).LastError)

				cleaned := make(chan struct{})
				ends := sync.OnceFunc(func() { close(cleaned) })
				t.Cleanup(ends)
				f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation == "bios.cache_bios_settings" {
						<-cleaned
					}
					return nil
				})
				f.request(n, "clean")
				require.Equal(t, states.Cleaning, f.settle(n).ProvisionState)
				hardware.err = late
				returns()
				require.Empty(t, f.settle(n).LastError)
				require.Nil(t, f.settle(n).SecureBoot)
				ends()
				got := f.settle(n)
				require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
				require.Nil(t, got.SecureBoot)
			})
		})
	}
}

// Once nobody waits for the answer, only the node can say that the BMC refuses the value.
func TestAnActionThatAShutdownEndsSaysSoInTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := conductor.New(conductor.Config{
			Store: &conductor.Memory{}, Name: "alpha", ShutdownTimeout: time.Second,
			Hardware: map[string]conductor.Hardware{"fake-hardware": &managed{Fake: &conductor.Fake{}, takes: time.Hour}},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Run(ctx) }()
		require.NoError(t, c.Ready(ctx))
		n, err := c.CreateNode(ctx, &conductor.Node{Driver: "fake-hardware", ProvisionState: states.Active})
		require.NoError(t, err)
		time.AfterFunc(time.Second, stop)
		require.NoError(t, c.Management(n.UUID).SetSecureBoot(t.Context(), true))
		<-done
		n, err = c.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, "Failed to change secure_boot state to 'True': the conductor was stopped", n.LastError)
	})
}

func TestALateRefusalOfAValueIsTheLastError(t *testing.T) {
	for name, takes := range map[string]time.Duration{"a caller who waits": time.Second, "a caller who has left": 14 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := &conductor.Error{Reason: conductor.Invalid, Text: "no secure boot in BIOS mode"}
				hardware := &managed{Fake: &conductor.Fake{}, takes: takes, err: refused}
				f := start(t, func(config *conductor.Config) { config.Hardware["fake-hardware"] = hardware })
				n := f.node(states.Active)
				err := f.Management(n.UUID).SetSecureBoot(f.ctx, true)
				bubble.Sleep(takes)
				lastError := f.settle(n).LastError
				if takes < time.Minute {
					require.ErrorIs(t, err, conductor.Invalid)
					require.Empty(t, lastError)
				} else {
					require.NoError(t, err)
					require.Equal(t, "Failed to change secure_boot state to 'True': no secure boot in BIOS mode", lastError)
				}
			})
		})
	}
}

func TestHardwareWithoutAManagementInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		m := f.Management(n.UUID)
		require.ErrorIs(t, m.InjectNMI(f.ctx), conductor.Unsupported)
		_, err := m.VirtualMedia(f.ctx)
		require.ErrorIs(t, err, conductor.Unsupported)
		require.NoError(t, m.AttachVirtualMedia(f.ctx, "cdrom", "image", ""))
		require.Equal(t, "Could not attach device cdrom to node "+n.UUID+
			": Driver fake-hardware does not support virtual media (disabled or not implemented).", f.settle(n).LastError)
		require.NoError(t, m.SetBootMode(f.ctx, "bios"))
		require.Equal(t,
			"Failed to change boot mode to 'bios: Driver fake-hardware does not support set_boot_mode (disabled or not implemented).",
			f.settle(n).LastError)
	})
}

func TestOnlyTheBMCLoadsTheImageOfVirtualMedia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &managed{Fake: &conductor.Fake{}}
		f := start(t, func(config *conductor.Config) { config.Hardware["fake-hardware"] = hardware })
		n := f.node(states.Active)
		require.NoError(t, f.Management(n.UUID).AttachVirtualMedia(f.ctx, "cdrom", "image", "local"))
		require.Contains(t, f.settle(n).LastError, "image_download_source local is not supported")
		require.Empty(t, hardware.calls)
	})
}

// Source: bug 2121118 of Ironic.
func TestVirtualMediaOfANodeWithAPowerFailureIsRefusedSince2025_2(t *testing.T) {
	const fault = "power failure"
	for name, c := range map[string]struct {
		series states.Series
		node   conductor.Node
		calls  int
	}{
		"before 2025.2":       {states.Epoxy, conductor.Node{Maintenance: true, Fault: fault}, 2},
		"since 2025.2":        {states.Flamingo, conductor.Node{Maintenance: true, Fault: fault}, 0},
		"another fault":       {states.Flamingo, conductor.Node{Maintenance: true, Fault: "clean failure"}, 2},
		"an earlier failure":  {states.Flamingo, conductor.Node{Fault: fault}, 2},
		"plain maintenance":   {states.Flamingo, conductor.Node{Maintenance: true}, 2},
		"without maintenance": {states.Flamingo, conductor.Node{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &managed{Fake: &conductor.Fake{}}
				f := start(t, func(config *conductor.Config) {
					config.Hardware["fake-hardware"], config.Table, config.SkipPowerSync = hardware, c.series.Table(), true
				})
				c.node.ProvisionState, c.node.LastError = states.Active, "no answer for a while"
				n := f.create(c.node)
				bubble.Sleep(time.Second)
				attached := f.Management(n.UUID).AttachVirtualMedia(f.ctx, "cdrom", "image", "http")
				detached := f.Management(n.UUID).DetachVirtualMedia(f.ctx, nil)
				require.Len(t, hardware.calls, c.calls)
				if c.calls > 0 {
					require.NoError(t, errors.Join(attached, detached))
					return
				}
				for verb, err := range map[string]error{"attach": attached, "detach": detached} {
					require.EqualError(t, err, "Unable to "+verb+" virtual media for node "+n.UUID+" due to power failure state")
					require.ErrorIs(t, err, conductor.InMaintenance)
					require.Equal(t, http.StatusServiceUnavailable, conductor.HTTPStatus(err))
				}
				after := f.settle(n)
				require.Equal(t, "no answer for a while", after.LastError)
				require.NotNil(t, after.UpdatedAt, "as by Ironic's lock")
			})
		})
	}
}
