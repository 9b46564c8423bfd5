// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// patient is fake-hardware whose machines have a health.
type patient struct {
	*conductor.Fake
	reads atomic.Int64

	mu     sync.Mutex
	health string
	err    error
}

func (p *patient) ReadHealth(context.Context, *conductor.Node) (string, error) {
	p.reads.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health, p.err
}

func TestPowerSyncRecordsTheHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware, log := &patient{health: "OK"}, &lockedBuffer{}
		f := start(t, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
			c.Log = slog.New(slog.NewTextHandler(log, nil))
		})
		n := f.powered(states.PowerOn, states.PowerOn)
		require.Empty(t, n.Health)
		var events []string
		for _, c := range []struct {
			health string
			err    error
			want   string
			event  string // "" if nothing changes
		}{
			{"OK", nil, "OK", "Node health status changed: health='OK' (previously 'None')"},
			{"OK", nil, "OK", ""},
			{"WARNING", nil, "WARNING", "Node health status changed: health='WARNING' (previously 'OK')"},
			{"CRITICAL", nil, "CRITICAL", "Node health status changed: health='CRITICAL' (previously 'WARNING')"},
			{"OK", errors.New("no answer"), "CRITICAL", ""},
			{"", nil, "", "Node health status changed: health='None' (previously 'CRITICAL')"},
		} {
			hardware.mu.Lock()
			hardware.health, hardware.err = c.health, c.err
			hardware.mu.Unlock()
			bubble.Sleep(3 * time.Minute)
			now, err := f.Node(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Equal(t, c.want, now.Health)
			require.Equal(t, states.PowerOn, now.Power)
			if c.event != "" {
				events = append(events, c.event)
			}
		}
		var got []string
		entries, err := f.History(f.ctx, n.UUID)
		require.NoError(t, err)
		for _, entry := range entries {
			require.Equal(t, []string{"INFO", "monitoring"}, []string{entry.Severity, entry.EventType})
			got = append(got, entry.Event)
		}
		require.Equal(t, events, got)
		require.Equal(t, 1, strings.Count(log.String(), `msg="the health of a node could not be read"`))
		require.Equal(t, 2, strings.Count(log.String(), `msg="a machine has a problem"`))
		for _, health := range []string{"WARNING", "CRITICAL"} {
			require.Contains(t, log.String(), `msg="a machine has a problem" node=`+n.UUID+" health="+health)
		}
	})
}

func TestHealthIsNotRead(t *testing.T) {
	for name, change := range map[string]func(c *conductor.Config, p *patient){
		"in a series without the field": func(c *conductor.Config, _ *patient) { c.Table = states.Antelope.Table() },
		"with SkipHealth":               func(c *conductor.Config, _ *patient) { c.SkipHealth = true },
		"without a power state": func(_ *conductor.Config, p *patient) {
			p.Before = func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "read power" {
					return errors.New("no answer")
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hardware := &patient{health: "OK"}
				f := start(t, func(c *conductor.Config) {
					hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
					change(c, hardware)
					c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
				})
				n := f.powered(states.PowerOn, states.PowerOn)
				bubble.Sleep(10 * time.Minute)
				require.Zero(t, hardware.reads.Load())
				now, err := f.Node(f.ctx, n.UUID)
				require.NoError(t, err)
				require.Empty(t, now.Health)
			})
		})
	}
}

// bootless is fake-hardware whose machines never tell how they boot.
type bootless struct {
	*caching
	reads atomic.Int64
	free  chan struct{}
}

func (s *bootless) ReadBootMode(context.Context, *conductor.Node) (string, *bool, error) {
	s.reads.Add(1)
	<-s.free
	return "", nil, nil
}

// With SkipHealth a round does not ask.
func TestAReadThatHangsTakesThePowerFromNoNode(t *testing.T) {
	for skip, reads := range map[bool]int64{false: 1, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			hardware := &bootless{caching: newCaching(""), free: make(chan struct{})}
			defer close(hardware.free)
			f := start(t, func(c *conductor.Config) {
				hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
				c.Hardware, c.SkipHealth = map[string]conductor.Hardware{"fake-hardware": hardware}, skip
			})
			n := f.powered(states.PowerOn, states.PowerOn)
			bubble.Sleep(20 * time.Minute)
			require.Equal(t, reads, hardware.reads.Load())
			require.False(t, f.settle(n).Maintenance)
			require.NoError(t, f.SetPower(f.ctx, n.UUID, states.PowerOff, 0))
			bubble.Sleep(time.Minute)
			require.Equal(t, states.PowerOff, f.settle(n).Power)
		})
	}
}

func TestTheHistoryHasAFailureOfPowerBeforeARoundReadsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := &bootless{caching: newCaching(""), free: make(chan struct{})}
		defer close(hardware.free)
		f := start(t, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		})
		f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
			if operation == "power off" {
				return errors.New("the switch is stuck")
			}
			return nil
		})
		n := f.powered(states.PowerOff, states.PowerOn)
		for hardware.reads.Load() == 0 {
			bubble.Sleep(time.Second)
		}
		n = f.settle(n)
		require.True(t, n.Maintenance)
		require.Contains(t, f.events(n), n.LastError)
	})
}

// refusingHealth is hardware whose health cannot be read since the password was changed after the read of the power.
type refusingHealth struct{ *booting }

func (refusingHealth) ReadHealth(context.Context, *conductor.Node) (string, error) {
	return "", verify.Credentials
}

// BMCs lock accounts after a few refused log-ins.
func TestARoundReadsNoMoreWhenTheLogInIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := refusingHealth{&booting{caching: newCaching(""), mode: "uefi"}}
		f := start(t, func(c *conductor.Config) {
			hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
			c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
		})
		n := f.powered(states.PowerOn, states.PowerOn)
		bubble.Sleep(10 * time.Minute)
		require.Empty(t, f.settle(n).BootMode)
	})
}

// wordy is hardware whose vendor is no name.
type wordy struct{ *booting }

func (wordy) ReadVendor(context.Context, *conductor.Node) (string, string, error) {
	return "", strings.Repeat("x", 256), nil
}

// The boot mode does not fit into a record, and the vendor would leave it no room.
func TestThePowerIsStoredBeforeWhatElseARoundReads(t *testing.T) {
	for mode, refused := range map[string]bool{"uefi": false, strings.Repeat("x", 2<<20): true} {
		synctest.Test(t, func(t *testing.T) {
			hardware, store := wordy{&booting{caching: newCaching(""), mode: mode}}, &bounded{}
			store.limit.Store(1 << 20)
			f := start(t, func(c *conductor.Config) {
				hardware.Fake = c.Hardware["fake-hardware"].(*conductor.Fake)
				c.Hardware = map[string]conductor.Hardware{"fake-hardware": hardware}
				c.Store = store
			})
			n := f.powered(states.NoPower, states.PowerOn)
			bubble.Sleep(5 * time.Minute)
			n = f.settle(n)
			require.Equal(t, states.PowerOn, n.Power)
			require.Equal(t, refused, store.refused.Load() > 0)
			require.NotContains(t, n.Properties, "vendor")
		})
	}
}
