// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"log/slog"
)

// naming is a handler that adds the attribute "name" to records with the attribute "node", the UUID
// of a node with a name.
type naming struct {
	slog.Handler
	nodes *index[*Node]
}

// Handle implements [slog.Handler].
func (h naming) Handle(ctx context.Context, r slog.Record) error {
	name := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "node" {
			return true
		}
		if n := h.nodes.get(a.Value.String()); n != nil {
			name = n.Name
		}
		return false
	})
	if name != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("name", name))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h naming) WithAttrs(attrs []slog.Attr) slog.Handler {
	return naming{h.Handler.WithAttrs(attrs), h.nodes}
}

// WithGroup implements [slog.Handler].
func (h naming) WithGroup(name string) slog.Handler {
	return naming{h.Handler.WithGroup(name), h.nodes}
}
