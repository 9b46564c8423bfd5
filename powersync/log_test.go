// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
)

// logTo makes a Syncer log to a buffer from a level on, without the time.
func logTo(log *bytes.Buffer, level slog.Level) func(*powersync.Config) {
	return func(c *powersync.Config) {
		c.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{
			Level: level,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
	}
}

func TestANodeThatGoesIntoMaintenanceIsAnErrorInTheLog(t *testing.T) {
	var log bytes.Buffer
	r := node(isOn)
	r.LastError = "from before"
	h := newFixture(t, newHardware(unknown), nodes(r), logTo(&log, slog.LevelInfo), func(c *powersync.Config) { c.MaxRetries = -1 })
	h.kill("a", true)
	require.Equal(t, powersync.IntoMaintenance, h.round(t))
	require.Contains(t, log.String(), `level=ERROR msg="node power" node=a outcome=into_maintenance recorded="power on" read=none `+
		`asked=none attempts=1 error="no route to host" `+
		`last_error="power sync failed 1 times in a row: the power state cannot be read: no route to host" cleared_error="from before"`)
}

func TestARoundThatIsMuchTooLongIsAWarning(t *testing.T) {
	for takes, want := range map[time.Duration]string{
		5 * time.Second:  "level=INFO msg=\"power sync round\" round=sync took=5s overran=false nodes=map[equal:1]\n",
		10 * time.Second: "level=INFO msg=\"power sync round\" round=sync took=10s overran=false nodes=map[equal:1]\n",
		20 * time.Second: "level=INFO msg=\"power sync round\" round=sync took=20s overran=true nodes=map[equal:1]\n",
		30 * time.Second: "level=INFO msg=\"power sync round\" round=sync took=30s overran=true nodes=map[equal:1]\n",
		31 * time.Second: "level=WARN msg=\"power sync round\" round=sync took=31s overran=true nodes=map[equal:1]\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			h := newFixture(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelInfo), func(c *powersync.Config) { c.Interval = 10 * time.Second })
			h.onRead = func(context.Context, string) { time.Sleep(takes) }
			h.round(t)
			require.Equal(t, want, log.String())
		})
	}
}

// unlisted is a store that cannot list its records.
type unlisted struct{ *powersync.Memory }

func (unlisted) Records(context.Context) iter.Seq2[powersync.Record, error] {
	return func(func(powersync.Record, error) bool) { panic("no list") }
}

func TestARoundWithAnErrorIsAWarningUnlessItWasCancelled(t *testing.T) {
	var log bytes.Buffer
	h := newFixture(t, newHardware(isOn), nodes(node(isOn)), logTo(&log, slog.LevelInfo), func(c *powersync.Config) { c.Store = unlisted{new(powersync.Memory)} })
	_, err := h.Sync(t.Context())
	require.Error(t, err)
	require.Regexp(t, `^level=WARN msg="power sync round" .* error="panic with a value of type string"\n$`, log.String())

	log.Reset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Sync(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Regexp(t, `^level=INFO msg="power sync round" .* error="not called: context canceled"\n$`, log.String())
}
