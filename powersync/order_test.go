//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

// A node that fails more often is asked first, as in Ironic, and those that never failed
// come last.
func TestNodesThatFailedMostAreAskedFirst(t *testing.T) {
	h := newHall(t, newHardware(isOn), nodes(node(isOn), node(isOn), node(isOn), node(isOn), node(isOn), node(isOn)),
		func(c *powersync.Config) { c.Workers, c.MaxRetries = 1, 100 })
	reserve := func(id, by string) {
		require.NoError(t, edit(h.store, id, func(r *powersync.Record) { r.Reservation = by }))
	}
	sync := func() (reads []string) {
		h.calls()
		_, err := h.Sync(t.Context())
		require.NoError(t, err)
		reads, _ = h.calls()
		return reads
	}
	most := []string{"d", "b", "f", "c", "e"}
	for _, id := range most {
		h.kill(id, true)
	}
	sync()
	for i := len(most) - 1; i > 0; i-- { // "e" fails once, "c" twice, ...
		reserve(most[i], "another")
		sync()
	}
	for _, id := range most[1:] {
		reserve(id, "")
	}
	require.Equal(t, append(most, "a"), sync())
}

// A node may be in both lists of those that come first.
func TestNodesThatCouldNotBeReleasedAndThoseThatFailedAreAskedFirst(t *testing.T) {
	h, f := newFlakyHall(t, newHardware(isOn, isOff, isOn), nodes(node(isOn), node(isOn), node(isOn)),
		func(c *powersync.Config) { c.Workers = 1 })
	h.refuse["b"] = errDead
	h.kill("c", true)
	f.update = noRelease
	_, err := h.Sync(t.Context())
	require.NoError(t, err)
	f.update = nil
	h.calls()
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, report.Seen)
	reads, _ := h.calls()
	require.Equal(t, []string{"b", "c", "a"}, reads)
}

func TestANodeThatFailedAndIsSkippedByNowIsCountedOnce(t *testing.T) {
	h := newHall(t, newHardware(isOn), nodes(node(isOn)))
	h.kill("a", true)
	require.Equal(t, powersync.ReadFailed, h.round(t))
	require.NoError(t, edit(h.store, "a", func(r *powersync.Record) { r.Maintenance = true }))
	report, err := h.Sync(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[powersync.Outcome]int{powersync.SkippedMaintenance: 1}, report.Nodes)
}

func TestAReleaseThatConflictsIsTriedFortyTimes(t *testing.T) {
	h, f := newFlakyHall(t, newHardware(isOn), nodes(node(isOn)))
	releases := 0
	f.update = func(r powersync.Record) error {
		if !released(r) {
			return nil
		}
		releases++
		return powersync.ErrConflict
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	require.Equal(t, 40, releases)
	require.Equal(t, 1, h.Stats().Held)
}

func TestAnOutcomeThatIsLostIsAWarning(t *testing.T) {
	var log bytes.Buffer
	h, f := newFlakyHall(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelWarn))
	f.update = func(r powersync.Record) error {
		if released(r) {
			return errStore
		}
		return nil
	}
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
	f.update = nil
	h.store.Delete("a")
	log.Reset()
	h.round(t)
	require.Contains(t, log.String(), `level=WARN msg="power outcome lost" node=a error=`)
}

func TestRunReleasesANodeSoonAfterTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := newFlakyHall(t, newHardware(isOn), nodes(node(isOn)), func(c *powersync.Config) { c.Interval = time.Hour })
		var down atomic.Bool
		f.update = func(r powersync.Record) error {
			if down.Load() && released(r) {
				return errStore
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		time.Sleep(time.Minute)
		down.Store(true)
		require.ErrorIs(t, h.Set(t.Context(), "a", isOff, 0), powersync.ErrNotSaved)
		time.Sleep(time.Minute)
		require.Equal(t, "this", h.record(t, "a").Reservation)

		down.Store(false)
		time.Sleep(6 * time.Second)
		require.Equal(t, node(isOff), without(h.record(t, "a")))
		require.Zero(t, h.Stats().Held)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
