// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// runFor runs a fixture for a time and returns the reports of its rounds.
func runFor(
	t *testing.T, d time.Duration, h *hardware, records []powersync.Record, set ...func(*powersync.Config),
) (*fixture, []powersync.Report) {
	t.Helper()
	var mu sync.Mutex
	var reports []powersync.Report
	fixture := newFixture(t, h, records, append(set, func(c *powersync.Config) {
		c.OnReport = func(r powersync.Report, _ error) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r)
		}
	})...)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	require.ErrorIs(t, fixture.Run(ctx), context.DeadlineExceeded)
	return fixture, reports
}

// starts returns the start times of the rounds of a kind, relative to the first.
func starts(reports []powersync.Report, recovery bool) []time.Duration {
	var from time.Time
	var all []time.Duration
	for _, r := range reports {
		if r.Recovery != recovery {
			continue
		}
		if from.IsZero() {
			from = r.Start
		}
		all = append(all, r.Start.Sub(from))
	}
	return all
}

func TestTheDefaultsAreIronics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy, most := 0, 0
		h := newHardware()
		records := make([]powersync.Record, 20)
		for i := range records {
			records[i] = node(isOn)
			h.power[name(i)] = isOn
		}
		var mu sync.Mutex
		h.onRead = func(context.Context, string) {
			mu.Lock()
			busy++
			most = max(most, busy)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			busy--
			mu.Unlock()
		}
		_, reports := runFor(t, 11*time.Minute, h, records)
		require.Equal(t, []time.Duration{0, 120 * time.Second, 240 * time.Second, 360 * time.Second, 480 * time.Second, 600 * time.Second},
			starts(reports, false))
		require.Equal(t, []time.Duration{0, 300 * time.Second, 600 * time.Second}, starts(reports, true))
		require.Equal(t, 8, most)
		require.Equal(t, 3, powersync.DefaultMaxRetries)
	})
}

func TestNeverLeavesRecoveryToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, reports := runFor(t, time.Hour, newHardware(isOn), nodes(powerFailure(isOn)),
			func(c *powersync.Config) { c.RecoveryInterval = -1 })
		require.Empty(t, starts(reports, true))
		require.True(t, h.record(t, "a").Maintenance)
		require.Equal(t, powersync.Recovered, h.recovery(t))
	})
}

func TestARoundThatOverrunsIsReportedAndNeverOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		h := newHardware(isOn)
		takes := []time.Duration{50 * time.Second, 10 * time.Second, 200 * time.Second, 10 * time.Second, 10 * time.Second}
		round := 0
		h.onRead = func(context.Context, string) {
			time.Sleep(takes[min(round, len(takes)-1)])
			round++
		}
		fixture, reports := runFor(t, 400*time.Second, h, nodes(node(isOn)), func(c *powersync.Config) {
			c.Interval, c.RecoveryInterval, c.Timeout = time.Minute, -1, time.Hour
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		require.Equal(t, []time.Duration{0, 60 * time.Second, 120 * time.Second, 320 * time.Second, 380 * time.Second},
			starts(reports, false))
		for i, r := range reports {
			require.Equal(t, i == 2, r.Overran)
		}
		require.Equal(t, 1, fixture.Stats().Overruns)
		require.Equal(t, 1, strings.Count(log.String(), "overran=true"), "over three intervals is worth a warning: %s", log.String())
	})
}

func TestASecondRoundAtATimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t, newHardware(isOn), nodes(node(isOn)))
		h.onRead = func(context.Context, string) { time.Sleep(time.Second) }
		done := make(chan error)
		go func() {
			_, err := h.Sync(t.Context())
			done <- err
		}()
		synctest.Wait()
		_, err := h.Sync(t.Context())
		require.ErrorIs(t, err, powersync.ErrRunning)
		_, err = h.Recover(t.Context())
		require.NoError(t, err, "one of each kind may run")
		require.NoError(t, <-done)
	})
}

func TestJitterDelaysRoundsByNoMoreThanItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, reports := runFor(t, 2*time.Hour, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) {
			c.Interval, c.Jitter, c.RecoveryInterval = time.Minute, 30*time.Second, -1
		})
		require.Len(t, reports, 120)
		delays := map[time.Duration]bool{}
		for i, r := range reports {
			delay := r.Start.Sub(began) - time.Duration(i)*time.Minute
			require.GreaterOrEqual(t, delay, time.Duration(0))
			require.Less(t, delay, 30*time.Second)
			delays[delay] = true
		}
		require.Greater(t, len(delays), 100)
	})
}

func TestRunStopsWithinOneDriverTimeoutAndWritesNothingHalf(t *testing.T) {
	for what, ignores := range map[string]bool{"a driver that heeds its context": false, "one that does not": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHardware(isOff, isOn, isOff)
				let := make(chan struct{})
				hang := func(ctx context.Context, id string) {
					done := ctx.Done()
					if ignores {
						done = nil
					}
					select {
					case <-done:
					case <-let:
					}
				}
				h.onSet = hang
				h.onRead = func(ctx context.Context, id string) {
					if id != "a" {
						hang(ctx, id)
					}
				}
				fixture := newFixture(t, h, nodes(node(isOn), node(isOn), powerFailure(isOn)))
				ctx, cancel := context.WithCancel(t.Context())
				ran := make(chan error)
				go func() { ran <- fixture.Run(ctx) }()
				synctest.Wait()
				require.Equal(t, "this", fixture.record(t, "a").Reservation)
				h.kill("b", true)
				h.kill("c", true)
				start := time.Now()
				cancel()
				require.ErrorIs(t, <-ran, context.Canceled)
				require.LessOrEqual(t, time.Since(start), powersync.DefaultTimeout)
				require.Equal(t, node(isOn), without(fixture.record(t, "a")))
				require.Equal(t, node(isOn), without(fixture.record(t, "b")))
				require.Equal(t, powerFailure(isOn), without(fixture.record(t, "c")))
				if ignores {
					require.Equal(t, 3, fixture.Stats().Abandoned)
				}
				close(let)
				synctest.Wait()
				require.Equal(t, node(isOn), without(fixture.record(t, "a")), "what comes too late is not heard")
			})
		})
	}
}

func without(r powersync.Record) powersync.Record {
	r.ID = ""
	return r
}

func TestRunDropsReservationsOfAnEarlierProcessWithItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, changing, foreign := node(isOn), node(isOn), node(isOn)
		held.Reservation = "this"
		changing.Reservation, changing.TargetPower = "this", isOff
		foreign.Reservation, foreign.TargetPower = "another", isOff
		h, _ := runFor(t, time.Second, newHardware(isOn, isOn, isOn), nodes(held, changing, foreign))
		require.Equal(t, node(isOn), without(h.record(t, "a")))
		lost := node(isOn)
		lost.LastError = `the request for "power off" was lost: the process that made it has died`
		require.Equal(t, lost, without(h.record(t, "b")), "and the round has left the error")
		require.Equal(t, foreign, without(h.record(t, "c")))
	})
}

func TestRunWarnsOfReservationsThatItDropsOrCannotFind(t *testing.T) {
	left := node(isOn)
	left.Reservation = "this"
	const line = "level=WARN msg=\"old reservations dropped\" nodes="
	for name, test := range map[string]struct {
		record powersync.Record
		err    error
		want   string
	}{
		"none is left":          {node(isOn), nil, ""},
		"one is left":           {left, nil, line + "1 error=<nil>\n"},
		"the store cannot tell": {left, errStore, line + "0 error=\"disk full\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				h, f := newFlakyFixture(t, newHardware(isOn), nodes(test.record), logTo(&log, slog.LevelWarn))
				f.records = func(int) error { return test.err }
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(t, h.Run(ctx), context.DeadlineExceeded)
				require.Equal(t, test.want, onlyLines(log.String(), "old reservations"))
			})
		})
	}
}

// onlyLines returns the lines of a log that contain a text.
func onlyLines(log, text string) (only string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			only += line
		}
	}
	return only
}

func TestRunReturnsWhenTheRecoveryRoundHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHardware(isOn)
		h.onRead = func(ctx context.Context, _ string) {
			<-ctx.Done()
			time.Sleep(time.Second) // to hang up
		}
		start := time.Now()
		fixture, reports := runFor(t, 10*time.Second, h, nodes(powerFailure(isOn)))
		require.Equal(t, 11*time.Second, time.Since(start))
		require.Len(t, starts(reports, true), 1)
		require.Equal(t, 1, fixture.Stats().Recoveries)
	})
}

func TestReclaimReportsLostReservationsAndKeepsThoseInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := node(isOn)
		lost.Reservation, lost.TargetPower = "this", isOff
		h := newFixture(t, newHardware(isOn, isOn), nodes(lost, node(isOn)))
		h.onSet = func(context.Context, string) { time.Sleep(time.Second) }
		done := make(chan error)
		go func() { done <- h.Set(t.Context(), "b", isOff, 0) }()
		synctest.Wait()
		n, err := h.Reclaim(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		lost = node(isOn)
		lost.LastError = `the request for "power off" was lost: the process that made it has died`
		require.Equal(t, lost, without(h.record(t, "a")))
		require.Equal(t, "this", h.record(t, "b").Reservation)
		require.NoError(t, <-done)
	})
}

func TestNodesAreInterruptedWhenTheContextEnds(t *testing.T) {
	h := newFixture(t, newHardware(isOn, isOn), nodes(node(isOn), powersync.Record{ProvisionState: states.Enroll}))
	ctx, cancel := context.WithCancel(t.Context())
	h.onRead = func(context.Context, string) { cancel() }
	h.kill("a", true)
	report, err := h.Sync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, report.Nodes[powersync.Interrupted])
	require.Zero(t, h.Stats().Failing)

	report, err = h.Sync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, report.Seen)
}
