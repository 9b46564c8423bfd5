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
