//go:build go1.25

package powersync_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// A node that fails more often is asked first, as in Ironic, and those that never failed
// come last.
func TestNodesThatFailedMostAreAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodeCount = 6
		var on []states.Power
		var records []powersync.Record
		for range nodeCount {
			on, records = append(on, isOn), append(records, node(isOn))
		}
		h := newHall(t, newHardware(on...), records, func(c *powersync.Config) { c.Workers, c.MaxRetries = 1, 100 })
		for i := range nodeCount - 1 { // "b" fails once, "c" twice, ...; "a" never
			h.kill(name(nodeCount-1-i), true)
			_, err := h.Sync(t.Context())
			require.NoError(t, err)
			time.Sleep(time.Hour) // longer than any backoff
		}
		h.calls()
		_, err := h.Sync(t.Context())
		require.NoError(t, err)
		reads, _ := h.calls()
		require.Equal(t, []string{"f", "e", "d", "c", "b", "a"}, reads)
	})
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
	require.Equal(t, 3, report.Nodes.Seen())
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
	require.Equal(t, powersync.Counts{powersync.SkippedMaintenance: 1}, report.Nodes)
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
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff), powersync.ErrNotSaved)
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
	require.ErrorIs(t, h.Set(t.Context(), "a", isOff), powersync.ErrNotSaved)
	f.update = nil
	h.store.Delete("a")
	log.Reset()
	h.round(t)
	require.Contains(t, log.String(), `level=WARN msg="power outcome lost" node=a error=`)
}
