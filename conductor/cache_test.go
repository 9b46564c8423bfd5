// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
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

// caching is fake-hardware with BIOS settings and firmware versions.
type caching struct {
	*conductor.Fake
	version  string
	bios     func() ([]conductor.BIOSSetting, error)
	firmware func() ([]conductor.FirmwareComponent, error)

	firmwareVendor string
}

func (c *caching) ReadBIOS(ctx context.Context, _ *conductor.Node) ([]conductor.BIOSSetting, error) {
	if err := errors.Join(ctx.Err(), unfenced(ctx)); err != nil {
		return nil, err
	}
	return c.bios()
}

func (c *caching) ReadFirmware(ctx context.Context, _ *conductor.Node) ([]conductor.FirmwareComponent, error) {
	if err := unfenced(ctx); err != nil {
		return nil, err
	}
	return c.firmware()
}

func (c *caching) ReadBootMode(context.Context, *conductor.Node) (string, *bool, error) {
	on := true
	return "uefi", &on, nil
}

func (c *caching) ReadVendor(context.Context, *conductor.Node) (firmware, machine string, err error) {
	if c.version == "" {
		return "", "", nil
	}
	return c.firmwareVendor, "vendor of " + c.version, nil
}

func newCaching(version string) *caching {
	return &caching{
		&conductor.Fake{},
		version,
		func() ([]conductor.BIOSSetting, error) {
			return []conductor.BIOSSetting{{Name: "v", Value: version}}, nil
		},
		func() ([]conductor.FirmwareComponent, error) {
			return []conductor.FirmwareComponent{{Component: "bios", CurrentVersion: version}, {Component: "bmc", CurrentVersion: "1"}}, nil
		},
		"",
	}
}

func startCaching(t *testing.T, c *caching, series states.Series) *fleet {
	return start(t, func(config *conductor.Config) {
		config.Hardware = map[string]conductor.Hardware{"fake-hardware": c}
		config.Table = series.Table()
	})
}

func TestVerificationCleaningAndServiceCacheBIOSAndFirmware(t *testing.T) {
	for _, series := range []states.Series{states.Antelope, states.Bobcat, states.Latest()} {
		synctest.Test(t, func(t *testing.T) {
			hardware := newCaching("1")
			f := startCaching(t, hardware, series)
			n := f.node(states.Enroll)
			f.request(n, "manage")
			n = f.settle(n)
			require.Equal(t, states.Manageable, n.ProvisionState)
			require.Equal(t, "1", n.BIOSSettings[0].Value)
			require.Equal(t, "vendor of 1", n.Properties["vendor"])
			require.Equal(t, "uefi", n.BootMode)
			require.True(t, *n.SecureBoot)
			if series < states.Bobcat {
				require.Empty(t, n.Firmware)
				return
			}
			created := n.Firmware[0].CreatedAt
			require.Equal(t, []conductor.FirmwareComponent{
				{Component: "bios", InitialVersion: "1", CurrentVersion: "1", CreatedAt: created},
				{Component: "bmc", InitialVersion: "1", CurrentVersion: "1", CreatedAt: created},
			}, n.Firmware)

			bubble.Sleep(time.Minute)
			*hardware = *newCaching("2")
			f.request(n, "clean")
			n = f.settle(n)
			require.Equal(t, states.Manageable, n.ProvisionState)
			require.Equal(t, "2", n.BIOSSettings[0].Value)
			require.Equal(t, "vendor of 1", n.Properties["vendor"], "the vendor is read once")
			require.Equal(t, created.Add(time.Minute), *n.Firmware[0].UpdatedAt)
			require.Equal(t, conductor.FirmwareComponent{
				Component:          "bios",
				InitialVersion:     "1",
				CurrentVersion:     "2",
				LastVersionFlashed: "2",
				CreatedAt:          created,
				UpdatedAt:          n.Firmware[0].UpdatedAt,
			}, n.Firmware[0])
			require.Nil(t, n.Firmware[1].UpdatedAt)

			*hardware = *newCaching("3")
			f.request(n, "adopt")
			require.Equal(t, "2", f.settle(n).Firmware[0].CurrentVersion)
			f.request(n, "service")
			n = f.settle(n)
			require.Equal(t, states.Active, n.ProvisionState, n.LastError)
			cached := "3"
			if series < states.Dalmatian {
				cached = "2"
			}
			require.Equal(t, cached, n.Firmware[0].CurrentVersion)
		})
	}
}

func TestAMachineThatReportsNoVendor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startCaching(t, newCaching(""), states.Latest())
		n := f.node(states.Enroll)
		f.request(n, "manage")
		n = f.settle(n)
		require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
		require.NotContains(t, n.Properties, "vendor")
	})
}

func TestTheVendorComesFromTheBMCsFirmwareSince2026_1(t *testing.T) {
	for series, want := range map[states.Series]string{states.Flamingo: "vendor of 1", states.Gazpacho: "AMI"} {
		synctest.Test(t, func(t *testing.T) {
			hardware := newCaching("1")
			hardware.firmwareVendor = "AMI"
			f := startCaching(t, hardware, series)
			n := f.node(states.Enroll)
			f.request(n, "manage")
			require.Equal(t, want, f.settle(n).Properties["vendor"], series)
		})
	}
}

func TestWhatACleaningOrAServiceChangesIsReadAtItsEnd(t *testing.T) {
	for series, cached := range map[states.Series]string{states.Caracal: "1", states.Dalmatian: "2"} {
		for target, from := range map[string]states.State{"clean": states.Manageable, "service": states.Active} {
			synctest.Test(t, func(t *testing.T) {
				hardware := newCaching("1")
				changed := newCaching("2")
				hardware.Before = func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation == "bios.cache_bios_settings" {
						hardware.firmware = changed.firmware
					}
					return nil
				}
				f := startCaching(t, hardware, series)
				n := f.node(from)
				f.request(n, target)
				n = f.settle(n)
				require.Equal(t, from, n.ProvisionState, n.LastError)
				if target == "service" && series < states.Dalmatian {
					require.Empty(t, n.Firmware, "it was not read before either")
					return
				}
				require.Equal(t, "1", n.Firmware[0].InitialVersion, "it was read before the first step")
				require.Equal(t, cached, n.Firmware[0].CurrentVersion)
			})
		}
	}
}

// inspecting is caching hardware with the inspect interface agent.
type inspecting struct{ *caching }

func (h inspecting) Describe() conductor.Description {
	d := h.caching.Describe()
	d.Interfaces["inspect"] = append(d.Interfaces["inspect"], "agent")
	return d
}

func (h inspecting) UsesAgent(n *conductor.Node, work states.Work) bool {
	return work == states.WorkInspect && n.Interfaces["inspect"] == "agent"
}

func TestTheEndOfAnInspectionByAnAgentReadsTheFirmwareVersions(t *testing.T) {
	for _, c := range []struct {
		series states.Series
		by     string
		want   string
	}{
		{states.Gazpacho, "agent", "2"}, {states.Flamingo, "agent", "1"}, {states.Gazpacho, "fake", "1"},
	} {
		t.Run(c.series.String()+" "+c.by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := newCaching("1")
				hardware.Before = waiting("inspect.inspect_hardware")
				f := start(t, func(config *conductor.Config) {
					config.Hardware, config.Table = map[string]conductor.Hardware{"fake-hardware": inspecting{hardware}}, c.series.Table()
				})
				n, err := f.CreateNode(f.ctx, &conductor.Node{
					Driver:         "fake-hardware",
					ProvisionState: states.Enroll,
					Interfaces:     map[string]string{"inspect": c.by},
				})
				require.NoError(t, err)
				f.request(n, "manage")
				f.settle(n)
				changed := newCaching("2")
				hardware.version, hardware.bios, hardware.firmware = changed.version, changed.bios, changed.firmware
				f.request(n, "inspect")
				n = f.settle(n)
				require.Equal(t, states.InspectWait, n.ProvisionState)
				require.Equal(t, "1", n.Firmware[0].CurrentVersion, "the agent runs")
				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
				n = f.settle(n)
				require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
				require.Equal(t, c.want, n.Firmware[0].CurrentVersion)
				require.Equal(t, "1", n.BIOSSettings[0].Value, "nothing else is read")
				require.Equal(t, "vendor of 1", n.Properties["vendor"])
			})
		})
	}
}

func TestWorkDoesNotDependOnTheCache(t *testing.T) {
	for name, bad := range map[string]func() ([]conductor.BIOSSetting, error){
		"error": func() ([]conductor.BIOSSetting, error) { return nil, errors.New("no route to host") },
		"panic": func() ([]conductor.BIOSSetting, error) { panic("no BIOS") },
		"hang":  func() ([]conductor.BIOSSetting, error) { time.Sleep(time.Hour); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := newCaching("1")
				var log lockedBuffer
				f := start(t, func(c *conductor.Config) {
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
					c.Log = slog.New(slog.NewTextHandler(&log, nil))
				})
				n := f.node(states.Enroll)
				f.request(n, "manage")
				f.settle(n)
				require.NotContains(t, log.String(), "could not be read")
				hardware.bios = bad
				f.request(n, "clean")
				bubble.Sleep(5 * time.Minute) // two reads, of two minutes each
				n = f.settle(n)
				require.Equal(t, states.Manageable, n.ProvisionState, n.LastError)
				require.Empty(t, n.LastError)
				require.Equal(t, "1", n.BIOSSettings[0].Value, "the record keeps what it has")
				require.Equal(t, 2, strings.Count(log.String(), `msg="the BIOS settings of a node could not be read" node=`+n.UUID), log.String())
				bubble.Sleep(time.Hour)
			})
		})
	}
}

func TestAComponentThatIsNoLongerReportedStaysInTheRecord(t *testing.T) {
	n := &conductor.Node{}
	n.SetFirmware([]conductor.FirmwareComponent{
		{Component: "bmc", CurrentVersion: "1"},
		{Component: "nic:a", CurrentVersion: "1"},
		{Component: "nic:a", CurrentVersion: "1"},
	})
	require.Len(t, n.Firmware, 2)
	before := n.Clone()
	n.SetFirmware([]conductor.FirmwareComponent{{Component: "bmc", CurrentVersion: "1"}})
	require.Equal(t, before, n)

	n.SetFirmware([]conductor.FirmwareComponent{{Component: "bmc", CurrentVersion: "1", Model: "M1"}})
	require.Equal(t, "M1", n.Firmware[0].Model)
	require.NotNil(t, n.Firmware[0].UpdatedAt)
	require.Empty(t, n.Firmware[0].LastVersionFlashed, "another identity is no other version")
}

func TestABIOSSettingKeepsItsTimesUntilItsValueChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := time.Now().UTC()
		n := &conductor.Node{}
		n.SetBIOSSettings([]conductor.BIOSSetting{{Name: "b", Value: "1"}, {Name: "c", Value: "1"}, {Name: "a", Value: "1"}})
		require.Equal(t, []conductor.BIOSSetting{
			{Name: "a", Value: "1", CreatedAt: first}, {Name: "b", Value: "1", CreatedAt: first}, {Name: "c", Value: "1", CreatedAt: first},
		}, n.BIOSSettings)
		bubble.Sleep(time.Minute)
		second := time.Now().UTC()
		n.SetBIOSSettings([]conductor.BIOSSetting{{Name: "a", Value: "2"}, {Name: "c", Value: "1"}, {Name: "new", Value: "1"}})
		bubble.Sleep(time.Minute)
		n.SetBIOSSettings(n.BIOSSettings)
		require.Equal(t, []conductor.BIOSSetting{
			{Name: "a", Value: "2", CreatedAt: first, UpdatedAt: &second},
			{Name: "c", Value: "1", CreatedAt: first},
			{Name: "new", Value: "1", CreatedAt: second},
		}, n.BIOSSettings)
	})
}

// booting is hardware that tells how its machines boot.
type booting struct {
	*caching

	mu     sync.Mutex
	vendor string
	mode   string
	secure *bool
	err    error
}

// set changes what the hardware tells.
func (b *booting) set(vendor, mode string, secure *bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.vendor, b.mode, b.secure, b.err = vendor, mode, secure, err
}

func (b *booting) ReadBootMode(context.Context, *conductor.Node) (string, *bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mode, b.secure, b.err
}

func (b *booting) ReadVendor(context.Context, *conductor.Node) (firmware, machine string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return "", b.vendor, nil
}

// Source: 46ff51487 of Ironic (18.2.0): each sync round caches the vendor and how the machine boots.
func TestPowerSyncRecordsTheVendorAndHowTheMachineBoots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware, log := &booting{caching: newCaching("")}, &lockedBuffer{}
		f := start(t, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
			c.Log = slog.New(slog.NewTextHandler(log, nil))
		})
		n := f.powered(states.PowerOn, states.PowerOn)
		on, off := true, false
		for _, c := range []struct {
			name, mode string
			secure     *bool
			err        error
			wantMode   string
			want       *bool
			stored     bool
		}{
			{name: "nothing is told"},
			{name: "read", mode: "uefi", secure: &off, wantMode: "uefi", want: &off, stored: true},
			{name: "the same", mode: "uefi", secure: &off, wantMode: "uefi", want: &off},
			{name: "secure boot was enabled", mode: "uefi", secure: &on, wantMode: "uefi", want: &on, stored: true},
			{name: "not read", mode: "bios", err: errors.New("no answer"), wantMode: "uefi", want: &on},
			{name: "another mode", mode: "bios", wantMode: "bios", stored: true},
		} {
			hardware.set("", c.mode, c.secure, c.err)
			before := f.settle(n)
			bubble.Sleep(3 * time.Minute)
			now := f.settle(n)
			require.Equal(t, c.wantMode, now.BootMode, c.name)
			require.Equal(t, c.want, now.SecureBoot, c.name)
			require.Equal(t, states.PowerOn, now.Power, c.name)
			require.Equal(t, c.stored, now.Revision != before.Revision, c.name)
		}
		require.NotContains(t, f.settle(n).Properties, "vendor")
		require.Contains(t, log.String(), `msg="the boot mode of a node could not be read"`)
		hardware.set("Acme", "bios", nil, nil)
		bubble.Sleep(3 * time.Minute)
		require.Equal(t, "Acme", f.settle(n).Properties["vendor"])
	})
}

// sharing is hardware whose reads have requests in common.
type sharing struct {
	*booting
	share func(context.Context) context.Context
	seen  chan any
}

type sharedKey struct{}

func (s *sharing) ShareReads(ctx context.Context) context.Context { return s.share(ctx) }

func (s *sharing) note(ctx context.Context) {
	select {
	case s.seen <- ctx.Value(sharedKey{}):
	default:
	}
}

func (s *sharing) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	if ctx.Value(sharedKey{}) != nil {
		return states.NoPower, errors.New("the power is read by itself")
	}
	return s.booting.PowerState(ctx, n)
}

func (s *sharing) ReadVendor(ctx context.Context, n *conductor.Node) (firmware, machine string, err error) {
	s.note(ctx)
	return s.booting.ReadVendor(ctx, n)
}

func (s *sharing) ReadBootMode(ctx context.Context, n *conductor.Node) (string, *bool, error) {
	s.note(ctx)
	return s.booting.ReadBootMode(ctx, n)
}

func TestTheReadsOfARoundShareAContext(t *testing.T) {
	rounds := 0
	for name, test := range map[string]struct {
		share func(context.Context) context.Context
		want  []any
	}{
		"shared": {func(ctx context.Context) context.Context {
			rounds++
			return context.WithValue(ctx, sharedKey{}, rounds)
		}, []any{1, 1, 2, 2}},
		"panic": {func(context.Context) context.Context { panic("no context") }, make([]any, 4)},
		"none":  {func(context.Context) context.Context { return nil }, make([]any, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &sharing{&booting{caching: newCaching(""), mode: "uefi"}, test.share, make(chan any, 4)}
				f := start(t, func(c *conductor.Config) {
					hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
				})
				n := f.powered(states.PowerOn, states.PowerOn)
				bubble.Sleep(5 * time.Minute)
				require.Equal(t, "uefi", f.settle(n).BootMode)
				for _, want := range test.want {
					require.Equal(t, want, <-hardware.seen)
				}
			})
		})
	}
}

func TestARoundWarnsOnceOfAReadThatFailsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware, log := &booting{caching: newCaching("")}, &lockedBuffer{}
		f := start(t, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
			c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		n, other := f.powered(states.PowerOn, states.PowerOn), f.powered(states.PowerOn, states.PowerOn)
		warned := func(n *conductor.Node, level string) int {
			return strings.Count(log.String(), "level="+level+` msg="the boot mode of a node could not be read" node=`+n.UUID)
		}
		for i, c := range []struct {
			err  error
			want int
		}{
			{errors.New("forbidden"), 1}, {errors.New("forbidden"), 1}, {errors.New("no answer"), 2}, {errors.New("forbidden"), 3},
			{nil, 3}, {errors.New("forbidden"), 4},
		} {
			hardware.set("Acme", "uefi", nil, c.err)
			bubble.Sleep(5 * time.Minute)
			require.Equal(t, []int{c.want, c.want}, []int{warned(n, "WARN"), warned(other, "WARN")}, i)
		}
		require.Greater(t, warned(n, "DEBUG"), 5)
	})
}
