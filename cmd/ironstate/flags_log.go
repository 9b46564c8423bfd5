// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"log/slog"
)

// logFlags are the flags of the log.
type logFlags struct {
	level slog.Level
	json  bool
}

func (l *logFlags) define(flags *flag.FlagSet) {
	flags.TextVar(&l.level, "log-level", slog.LevelInfo,
		"`level` of the log on standard error: DEBUG, INFO, WARN or ERROR; etcd's warnings are DEBUG")
	flags.Func("log-format", "`format` of the log: text, the default, or json", l.setFormat)
}

// setFormat parses the value of -log-format.
func (l *logFlags) setFormat(value string) error {
	l.json = value == "json"
	if !l.json && value != "text" {
		return errors.New("want text or json")
	}
	return nil
}

// logHandler returns the handler of the log.
func (l *logFlags) logHandler(to io.Writer) slog.Handler {
	config := &slog.HandlerOptions{Level: l.level}
	if l.json {
		return slog.NewJSONHandler(to, config)
	}
	return slog.NewTextHandler(to, config)
}
