// SPDX-License-Identifier: Apache-2.0

package zaplog_test

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ironstate/ironstate/conductor/etcd/internal/zaplog"
)

func TestAnErrorThatEtcdRepairsByItselfIsNotAnErrorInTheLog(t *testing.T) {
	var b bytes.Buffer
	log := zaplog.New(slog.New(slog.NewTextHandler(&b, nil)), new(atomic.Bool))
	log.Error("failed to update storage version")
	require.Empty(t, b.String())
	log.Error("failed")
	require.Contains(t, b.String(), `level=ERROR msg="etcd: failed"`)
}

func TestTheLevelsOfEtcdInTheLog(t *testing.T) {
	const unknown = "a message"
	const stops = "setting up serving from embedded etcd failed."
	for _, c := range []struct {
		level   zapcore.Level
		message string
		usual   string // the level in the log
		quiet   string // the same while quiet is set
	}{
		{zapcore.DebugLevel, unknown, "DEBUG-4", "DEBUG-4"},
		{zapcore.InfoLevel, unknown, "DEBUG", "DEBUG"},
		{zapcore.WarnLevel, unknown, "DEBUG", "DEBUG"},
		{zapcore.ErrorLevel, unknown, "ERROR", "ERROR"},
		{zapcore.DPanicLevel, unknown, "ERROR", "ERROR"},
		{zapcore.ErrorLevel, stops, "ERROR", "DEBUG"},
		{zapcore.ErrorLevel, "failed to update storage version", "DEBUG", "DEBUG"},
	} {
		for isQuiet, want := range map[bool]string{false: c.usual, true: c.quiet} {
			var b bytes.Buffer
			var quiet atomic.Bool
			quiet.Store(isQuiet)
			handler := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug - 4})
			zaplog.New(slog.New(handler), &quiet).Log(c.level, c.message)
			require.Contains(t, b.String(), "level="+want+" ", "%v %q, quiet: %t", c.level, c.message, isQuiet)
			require.Contains(t, b.String(), "etcd: "+c.message)
		}
	}
}

func TestAFatalErrorOfEtcdPanics(t *testing.T) {
	var b bytes.Buffer
	log := zaplog.New(slog.New(slog.NewTextHandler(&b, nil)), new(atomic.Bool))
	require.PanicsWithValue(t, "the log is damaged", func() { log.Fatal("the log is damaged") })
	require.Contains(t, b.String(), `level=ERROR msg="etcd: the log is damaged"`)
}

func TestTheFieldsOfAMessageAreAttributes(t *testing.T) {
	var b bytes.Buffer
	log := zaplog.New(slog.New(slog.NewTextHandler(&b, nil)), new(atomic.Bool)).With(zap.String("server", "a"))
	log.Error("failed", zap.Int("attempts", 3), zap.Skip(), zap.Bool("again", true))
	require.Contains(t, b.String(), `level=ERROR msg="etcd: failed" server=a attempts=3 again=true`)
}
