// SPDX-License-Identifier: Apache-2.0

// Package zaplog sends the log of etcd, which is zap's, to a slog.Logger.
package zaplog

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger for etcd that writes to log. etcd's levels info and warn become Debug,
// since this project's packages themselves log all that an operator has to know. At the level fatal, where zap would
// exit the process, the logger panics. quiet is set while a server starts or ends.
func New(log *slog.Logger, quiet *atomic.Bool) *zap.Logger {
	return zap.New(&core{log.Handler(), quiet}, zap.WithFatalHook(zapcore.WriteThenPanic))
}

// core is a [zapcore.Core] that writes to a [slog.Handler].
type core struct {
	handler slog.Handler
	quiet   *atomic.Bool
}

func level(l zapcore.Level) slog.Level {
	switch {
	case l < zapcore.InfoLevel:
		return slog.LevelDebug - 4
	case l < zapcore.ErrorLevel:
		return slog.LevelDebug
	}
	return slog.LevelError
}

// Enabled implements [zapcore.LevelEnabler].
func (c *core) Enabled(l zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), level(l))
}

// With implements [zapcore.Core].
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{c.handler.WithAttrs(attrs(fields)), c.quiet}
}

// tooEarly is an error that etcd may log once when a folder is new: it looks for the version of the
// storage before the first write is there, and looks again every 5 s. It is logged as Debug.
const tooEarly = "failed to update storage version"

// stopsServing is an error that every server of a cluster logs when it is closed: it closes the listener
// for the other servers, and its own loop of Accept then reports that the listener is closed. It is logged
// as Debug while quiet is set. A server that cannot start returns the error as well.
const stopsServing = "setting up serving from embedded etcd failed."

// Check implements [zapcore.Core].
func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Message == tooEarly || entry.Message == stopsServing && c.quiet.Load() {
		entry.Level = zapcore.InfoLevel
	}
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements [zapcore.Core].
func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	record := slog.NewRecord(entry.Time, level(entry.Level), "etcd: "+entry.Message, 0)
	record.AddAttrs(attrs(fields)...)
	return c.handler.Handle(context.Background(), record)
}

// Sync implements [zapcore.Core].
func (c *core) Sync() error { return nil }

func attrs(fields []zapcore.Field) []slog.Attr {
	encoder := zapcore.NewMapObjectEncoder()
	attrs := make([]slog.Attr, 0, len(fields))
	for _, field := range fields {
		field.AddTo(encoder)
		if value, ok := encoder.Fields[field.Key]; ok {
			attrs = append(attrs, slog.Any(field.Key, value))
		}
	}
	return attrs
}
