// SPDX-License-Identifier: Apache-2.0

// Package nodelog names nodes in logs.
package nodelog

import (
	"context"
	"log/slog"
)

// Handler is a handler that adds the attribute "name" to records with the attribute "node", the UUID of a node with a
// name.
type Handler struct {
	slog.Handler
	// Name returns the name of the node with a UUID, "" for none.
	Name func(uuid string) string
}

// Handle implements [slog.Handler].
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	name := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "node" {
			return true
		}
		name = h.Name(a.Value.String())
		return false
	})
	if name != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("name", name))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Handler{h.Handler.WithAttrs(attrs), h.Name}
}

// WithGroup implements [slog.Handler].
func (h Handler) WithGroup(name string) slog.Handler {
	return Handler{h.Handler.WithGroup(name), h.Name}
}
