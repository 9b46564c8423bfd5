// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
)

// scripted is a Handler whose nodes have the outcomes of a script; a node's last outcome repeats.
type scripted struct {
	outcomes map[string][]powersync.Outcome
	pasts    []powersync.Failures // of the calls for the node "a"
	broken   bool                 // the nodes are in maintenance with a power failure
	lists    int                  // calls of Records
}

func (s *scripted) Records(context.Context) iter.Seq2[powersync.Record, error] {
	s.lists++
	return func(yield func(powersync.Record, error) bool) {
		for _, id := range []string{"a", "reserved"} {
			r := powersync.Record{ID: id, Power: isOn, Reservation: reservedFor[id]}
			if s.broken {
				r.Maintenance, r.Fault = true, powersync.FaultPowerFailure
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

var reservedFor = map[string]string{"reserved": "me"}

func (s *scripted) Sync(_ context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	if id == "a" {
		s.pasts = append(s.pasts, past)
	}
	outcome := s.outcomes[id][0]
	if len(s.outcomes[id]) > 1 {
		s.outcomes[id] = s.outcomes[id][1:]
	}
	a := powersync.Action{Event: powersync.Event{ID: id, Outcome: outcome}, Failures: past}
	switch outcome {
	case powersync.ReadFailed:
		a.Err, a.Failures.Count = errors.New("no answer"), past.Count+1
	case powersync.Equal, powersync.SkippedMaintenance: // as Decide
		a.Failures = powersync.Failures{}
	case powersync.ForceLimited: // a last error was stored meanwhile
		a.Failures.LastError = "stored late"
	case powersync.SkippedDeleted:
		return a, powersync.ErrNotFound
	case powersync.SkippedChanged:
		return a, powersync.ErrConflict
	case powersync.StoreFailed:
		a.Recorded, a.Read, a.Asked, a.LastError, a.ClearedError = isOn, isOff, isOn, "new", "old"
		return a, errStore
	}
	return a, nil
}

func (s *scripted) Recover(ctx context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	return s.Sync(ctx, id, past)
}

// An attempt that does not count extends no backoff, also if the last error of the node has changed.
func TestAnAttemptThatDoesNotCountExtendsNoBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &scripted{outcomes: map[string][]powersync.Outcome{
			"a": {powersync.ReadFailed, powersync.ForceLimited, powersync.ReadFailed}, "reserved": {powersync.Equal},
		}}
		s, err := powersync.New(powersync.Config{Handler: h, Backoff: time.Minute})
		require.NoError(t, err)
		for range 3 {
			_, err := s.Sync(t.Context())
			require.NoError(t, err)
			bubble.Sleep(time.Minute)
		}
		require.Equal(t, []powersync.Failures{{}, {Count: 1}, {Count: 1, LastError: "stored late"}}, h.pasts)
	})
}

// TestAHandlerDecidesAndTheSyncerKeepsTheFailures runs rounds over nodes that a Handler handles.
func TestAHandlerDecidesAndTheSyncerKeepsTheFailures(t *testing.T) {
	h := &scripted{outcomes: map[string][]powersync.Outcome{
		"a":        {powersync.ReadFailed, powersync.ReadFailed, powersync.Interrupted, powersync.Equal},
		"reserved": {powersync.Equal},
	}}
	s, err := powersync.New(powersync.Config{Handler: h, Name: "me", Workers: 1})
	require.NoError(t, err)
	for range 5 {
		report, err := s.Sync(context.Background())
		require.NoError(t, err)
		require.Equal(t, 2, report.Seen)
	}
	counts := make([]int, len(h.pasts))
	for i, past := range h.pasts {
		counts[i] = past.Count
	}
	require.Equal(t, []int{0, 1, 2, 2, 0}, counts, "an attempt that does not count leaves the failures")
	require.Equal(t, 5, s.Stats().Nodes[powersync.SkippedReservation], "a reservation is the Handler's own matter")

	s.Emit(context.Background(), powersync.Event{ID: "a", Outcome: powersync.PowerSet})
	require.Equal(t, 1, s.Stats().Nodes[powersync.PowerSet])
	_, err = s.Reclaim(context.Background())
	require.ErrorContains(t, err, "powersync: Handler: power requests and reservations are up to the Handler")
	require.ErrorContains(t, s.Set(context.Background(), "a", isOn, 0),
		"powersync: Handler: power requests and reservations are up to the Handler")
}

func TestTheOutcomesOfAHandlersOwnAreCounted(t *testing.T) {
	h := &scripted{outcomes: map[string][]powersync.Outcome{"a": {"other_rack"}}}
	s, err := powersync.New(powersync.Config{Handler: h})
	require.NoError(t, err)
	report, err := s.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, report.Seen)
	require.Regexp(t, `: 1 skipped_reservation, 1 other_rack$`, report.String())
	require.Equal(t, 1, s.Stats().Nodes["other_rack"])
	require.Equal(t, 2, s.Stats().Seen)
}

func TestAHandlerGetsNoNodeThatRoundsSkip(t *testing.T) {
	h := &scripted{broken: true}
	s, err := powersync.New(powersync.Config{Handler: h, Name: "me"})
	require.NoError(t, err)
	report, err := s.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.SkippedMaintenance: 2}, report.Nodes)
	require.Empty(t, h.pasts)
}

func TestRunLeavesTheReservationsToAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &scripted{outcomes: map[string][]powersync.Outcome{"a": {powersync.Equal}}}
		var log bytes.Buffer
		s, err := powersync.New(powersync.Config{
			Handler: h, Name: "me", Logger: slog.New(slog.NewTextHandler(&log, nil)), RecoveryInterval: -1,
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, s.Run(ctx), context.DeadlineExceeded)
		require.Equal(t, 1, h.lists, "one round")
		require.Empty(t, log.String())
	})
}

func TestAHandlersStoreFails(t *testing.T) {
	for outcome, calls := range map[powersync.Outcome]int{
		powersync.SkippedChanged: 4, // handled again each time
		powersync.StoreFailed:    1,
		powersync.SkippedDeleted: 1,
	} {
		h := &scripted{outcomes: map[string][]powersync.Outcome{"a": {outcome}, "reserved": {powersync.Equal}}}
		s, err := powersync.New(powersync.Config{Handler: h, Name: "me"})
		require.NoError(t, err)
		report, err := s.Sync(context.Background())
		require.NoError(t, err)
		require.Equal(t, 1, report.Nodes[outcome], outcome)
		require.Len(t, h.pasts, calls, outcome)
	}
}

// A node that is in maintenance when it is loaded keeps its count. One that came there while its hardware was read
// starts over, as in Ironic.
func TestOnlyANodeThatIsExcludedMeanwhileStartsItsCountOver(t *testing.T) {
	for name, test := range map[string]struct {
		second []powersync.Outcome // of the second round
		third  int                 // the count before the third round
	}{
		"when it is loaded": {[]powersync.Outcome{powersync.SkippedMaintenance}, 1},
		"meanwhile":         {[]powersync.Outcome{powersync.SkippedChanged, powersync.SkippedMaintenance}, 0},
	} {
		h := &scripted{outcomes: map[string][]powersync.Outcome{
			"a": slices.Concat([]powersync.Outcome{powersync.ReadFailed}, test.second, []powersync.Outcome{powersync.Equal}),
		}}
		s, err := powersync.New(powersync.Config{Handler: h})
		require.NoError(t, err)
		for range 3 {
			_, err := s.Sync(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, test.third, h.pasts[len(h.pasts)-1].Count, name)
	}
}

func TestTheEventOfAHandlersStoreThatFailsHasOnlyWhatHasHappened(t *testing.T) {
	h := &scripted{outcomes: map[string][]powersync.Outcome{"a": {powersync.StoreFailed}}}
	var events []powersync.Event
	s, err := powersync.New(powersync.Config{Handler: h, Name: "me", OnEvent: func(e powersync.Event) {
		e.Time = time.Time{}
		events = append(events, e)
	}})
	require.NoError(t, err)
	_, err = s.Sync(context.Background())
	require.NoError(t, err)
	require.Equal(t, []powersync.Event{{ID: "a", Outcome: powersync.StoreFailed, Recorded: isOn, Read: isOff, Err: errStore}}, events)
}

func TestAHandlersNodeStartsItsCountsOver(t *testing.T) {
	type round struct {
		recovery bool
		outcome  powersync.Outcome
		past     int // the count that the Handler gets
	}
	for name, rounds := range map[string][]round{
		"recovery's with maintenance": {
			{true, powersync.ReadFailed, 0}, {false, powersync.IntoMaintenance, 0}, {true, powersync.ReadFailed, 0},
		},
		"recovery's after a recovery": {
			{true, powersync.ReadFailed, 0}, {true, powersync.Recovered, 1}, {true, powersync.ReadFailed, 0},
		},
		"sync's after a recovery": {
			{false, powersync.ReadFailed, 0}, {false, powersync.IntoMaintenance, 1}, {true, powersync.Recovered, 0},
			{false, powersync.ReadFailed, 0},
		},
		"both when it was deleted": {
			{true, powersync.ReadFailed, 0}, {false, powersync.ReadFailed, 0}, {false, powersync.SkippedDeleted, 1},
			{true, powersync.ReadFailed, 0}, {false, powersync.ReadFailed, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &scripted{outcomes: map[string][]powersync.Outcome{"reserved": {powersync.Equal}}}
			s, err := powersync.New(powersync.Config{Handler: h, Name: "me"})
			require.NoError(t, err)
			for i, r := range rounds {
				h.outcomes["a"], h.broken = []powersync.Outcome{r.outcome}, r.recovery
				do := s.Sync
				if r.recovery {
					do = s.Recover
				}
				_, err := do(context.Background())
				require.NoError(t, err)
				require.Len(t, h.pasts, i+1)
				require.Equal(t, r.past, h.pasts[i].Count, "round %d", i)
			}
		})
	}
}

func TestAForceLimitCountsTheForcesOfAHandler(t *testing.T) {
	s, err := powersync.New(powersync.Config{Handler: &scripted{}, ForceLimit: 1})
	require.NoError(t, err)
	undo, ok := s.AllowForce()
	require.True(t, ok)
	_, ok = s.AllowForce()
	require.False(t, ok)
	undo()
	_, ok = s.AllowForce()
	require.True(t, ok)
}

// panicking is a Handler that panics with the node "a".
type panicking struct{ scripted }

func (p *panicking) Sync(ctx context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	if id == "a" {
		panic("the password is hunter2")
	}
	return p.scripted.Sync(ctx, id, past)
}

func (p *panicking) Recover(ctx context.Context, id string, past powersync.Failures) (powersync.Action, error) {
	return p.Sync(ctx, id, past)
}

// exiting is a Handler that ends its goroutine with each node.
type exiting struct {
	scripted
	lists int // records before the list ends the goroutine; 0: it does not
}

func (e *exiting) Records(context.Context) iter.Seq2[powersync.Record, error] {
	return func(yield func(powersync.Record, error) bool) {
		for i := range 10 {
			if i == e.lists-1 {
				runtime.Goexit()
			}
			if !yield(powersync.Record{ID: name(i)}, nil) {
				return
			}
		}
	}
}

func (*exiting) Sync(context.Context, string, powersync.Failures) (powersync.Action, error) {
	runtime.Goexit()
	panic("unreachable")
}

// With synctest a round that waits for a worker forever fails the test.
func TestAHandlerThatEndsItsGoroutineFailsForItsNodeAlone(t *testing.T) {
	for _, workers := range []int{1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			failed := make(chan powersync.Event, 10)
			s, err := powersync.New(powersync.Config{Handler: new(exiting), Workers: workers, OnEvent: func(e powersync.Event) {
				failed <- e
			}})
			require.NoError(t, err)
			report, err := s.Sync(t.Context())
			require.NoError(t, err)
			require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 10}, report.Nodes)
			require.Len(t, failed, 10)
			for range 10 {
				e := <-failed
				require.Equal(t, &machine.PanicError{}, e.Err)
				require.EqualError(t, e.Err, "the call ended its goroutine")
			}
		})
	}
}

func TestAListThatEndsItsGoroutineFailsTheRound(t *testing.T) {
	s, err := powersync.New(powersync.Config{Handler: &exiting{lists: 3}})
	require.NoError(t, err)
	report, err := s.Sync(t.Context())
	require.EqualError(t, err, "the call ended its goroutine")
	require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 2}, report.Nodes)
}

func TestAHandlerThatPanicsFailsForItsNodeAlone(t *testing.T) {
	h := &panicking{scripted{outcomes: map[string][]powersync.Outcome{"reserved": {powersync.Equal}}}}
	var failed []powersync.Event
	s, err := powersync.New(powersync.Config{Handler: h, Workers: 1, OnEvent: func(e powersync.Event) { failed = append(failed, e) }})
	require.NoError(t, err)
	h.broken = true
	report, err := s.Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, report.Nodes[powersync.StoreFailed])

	h.broken = false
	report, err = s.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.StoreFailed: 1, powersync.SkippedReservation: 1}, report.Nodes)
	require.Len(t, failed, 2)
	for _, e := range failed {
		require.Equal(t, "a", e.ID)
		require.EqualError(t, e.Err, "panic with a value of type string")
		var panicked *machine.PanicError
		require.ErrorAs(t, e.Err, &panicked)
		require.Contains(t, string(panicked.Stack), "panicking")
	}
}
