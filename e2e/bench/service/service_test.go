// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/internal/try"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestEachCallsForAllNumbersUntilOneFails(t *testing.T) {
	var sum atomic.Int64
	require.NoError(t, each(t.Context(), 100, 8, func(_ context.Context, i int) error {
		sum.Add(int64(i))
		return nil
	}))
	require.EqualValues(t, 99*100/2, sum.Load())

	failure := errors.New("the seventh fails")
	var calls atomic.Int64
	err := each(t.Context(), 1_000_000, 1, func(_ context.Context, i int) error {
		calls.Add(1)
		if i == 7 {
			return failure
		}
		return nil
	})
	require.ErrorIs(t, err, failure)
	require.EqualValues(t, 8, calls.Load())
}

func TestMedianHasTheFailuresOfAllRates(t *testing.T) {
	first := errors.New("locked")
	m := median([]rate{{perSecond: 9}, {perSecond: 1, failed: 2, err: first}, {perSecond: 3, failed: 1, err: first}})
	require.Equal(t, rate{perSecond: 3, failed: 3, err: first}, m)
	require.Equal(t, "3.0", m.String())
	require.InDelta(t, 3, row{ironic: m, ours: rate{perSecond: 9}}.times(), 0.001)
}

func TestAnswersAreSplitByRounds(t *testing.T) {
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	between := func(from, to int) span {
		return span{start.Add(time.Duration(from) * time.Millisecond), start.Add(time.Duration(to) * time.Millisecond)}
	}
	answers := make([][]span, len(streams))
	answers[show] = []span{between(0, 1), between(1, 11), between(12, 14), between(19, 22), between(30, 37)}
	quiet, busy := split(answers, []round{between(10, 20)})
	require.Equal(t, latencies{2, time.Millisecond, 7 * time.Millisecond, 7 * time.Millisecond}, quiet[show])
	require.Equal(t, latencies{3, 3 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond}, busy[show])
	require.Equal(t, "-", busy[1].String())
}

func TestRoundsOfThePowerSyncAreReadFromTheLog(t *testing.T) {
	c := &conductor{over: make(chan struct{})}
	last := c.readLog(strings.NewReader(`time=x level=DEBUG msg="power sync round" round=recovery took=9s overran=false nodes=map[]
time=x level=DEBUG msg="power sync round" round=sync took=1.5s overran=false nodes="map[equal:7]"
time=x level=INFO msg="node moved" took=3s
`))
	require.Contains(t, last, "node moved")
	require.Len(t, c.finished(), 1)
	require.Equal(t, 1500*time.Millisecond, c.finished()[0].took())
	require.NoError(t, c.roundsOver(t.Context(), 1))
}

func TestAProcessHasMemoryAndTime(t *testing.T) {
	m := memoryOf(os.Getpid())
	require.GreaterOrEqual(t, m.peak, m.now)
	require.Greater(t, m.now, m.own)
	cpuOf(os.Getpid())
	require.ErrorIs(t, try.Catch(func() { memoryOf(-1) }), os.ErrNotExist)
}

// scripted returns a client of a service that gives these answers, one after the other.
func scripted(t *testing.T, answers ...string) *client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if len(answers) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(server.Close)
	c := newClient(server.URL)
	t.Cleanup(c.close)
	return c
}

func TestSettleWaitsForTheEndOfTheReservation(t *testing.T) {
	const (
		working = `{"provision_state": "cleaning", "reservation": "host"}`
		moved   = `{"provision_state": "available", "reservation": "host"}`
		settled = `{"provision_state": "available", "reservation": null, "last_error": null}`
		failed  = `{"provision_state": "clean failed", "reservation": null, "last_error": "no disk"}`
	)
	require.NoError(t, scripted(t, working, moved, settled).settle(t.Context(), "n", "available"))
	require.EqualError(t, scripted(t, working, failed).settle(t.Context(), "n", "available"),
		`node n is in "clean failed", not in "available": no disk`)
	var bad *statusError
	require.ErrorAs(t, scripted(t, working).settle(t.Context(), "n", "available"), &bad)
	require.Equal(t, http.StatusNotFound, bad.status)
}

func TestLoadCountsFailuresSeparately(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("locked")
	w := workload{"every other", func(_ context.Context, _ *seeded, number int) error {
		switch {
		case number == 100:
			cancel()
		case number%2 == 0:
			return failure
		}
		return nil
	}}
	r, err := load(ctx, nil, w, 4, time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, r.failed, 49)
	require.Positive(t, r.perSecond)
	require.ErrorIs(t, r.err, failure)
	var b strings.Builder
	printComparison(&b, comparison{rounds: 1}, []row{{"every other", 4, r, rate{perSecond: 1}}})
	require.Contains(t, b.String(), "failed with Ironic and are not counted; the first: locked")
}

func TestWrongUsageIsStatus2(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "-1"}, {"-nodes", "0"}, {"-fleet", "-1"}, {"-syncs", "0"}, {"-cluster", "-1"}, {"more"}} {
		require.Equal(t, program.Usage, program.Run("service", args, io.Discard, io.Discard, run), "%v", args)
	}
}
