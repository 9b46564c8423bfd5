// SPDX-License-Identifier: Apache-2.0

package masked

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
)

// Log returns a handler that masks the passwords of URLs in the messages and attributes of a log, and passes the
// records to another handler.
func Log(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	shown := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		shown.AddAttrs(attribute(a))
		return true
	})
	return h.Handler.Handle(ctx, shown)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes(attrs))}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

// attribute returns an attribute with its value masked. A value that is neither a text nor a group becomes a text if
// something in it is masked.
func attribute(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		a.Value = slog.GroupValue(attributes(v.Group())...)
	case slog.KindString:
		a.Value = slog.StringValue(Text(v.String()))
	case slog.KindAny:
		for _, text := range []string{fmt.Sprintf("%+v", v.Any()), ofBytes(v.Any()), encoded(v.Any())} {
			if shown := Text(text); shown != text {
				a.Value = slog.StringValue(shown)
				break
			}
		}
	}
	return a
}

// ofBytes returns bytes of any type as a log of text has them, "" for any other value.
func ofBytes(value any) string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return string(v.Bytes())
	}
	return ""
}

// encoded returns a value as a log in JSON has it, also what is behind pointers; "" if it cannot be encoded.
func encoded(value any) (text string) {
	defer func() { _ = recover() }() // of the value's own method, whose panic the log reports
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_, isError := value.(error)
	if _, encodes := value.(json.Marshaler); encodes || !isError { // any other error has its text there
		_ = e.Encode(value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func attributes(all []slog.Attr) []slog.Attr {
	shown := make([]slog.Attr, len(all))
	for i, a := range all {
		shown[i] = attribute(a)
	}
	return shown
}
