// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/index"
)

// A slog.Handler may not modify the attributes of a record, which other handlers get too.
func TestTheNameOfANodeIsAddedToACopyOfTheRecord(t *testing.T) {
	nodes := index.New((*Node).meta)
	require.NoError(t, nodes.Create(&Node{UUID: "u", Name: "rack1-7", Revision: 1}, func() error { return nil }, nil))
	var out bytes.Buffer
	h := naming{slog.NewTextHandler(&out, nil), nodes}
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "text", 0)
	for _, key := range []string{"node", "a", "b", "c", "d", "e", "f", "g"} { // more than the record holds without a slice
		r.AddAttrs(slog.String(key, "u"))
	}
	for range 2 {
		require.NoError(t, h.Handle(t.Context(), r))
	}
	const line = "level=INFO msg=text node=u a=u b=u c=u d=u e=u f=u g=u name=rack1-7\n"
	require.Equal(t, strings.Repeat(line, 2), out.String())
}

// SECURITY.md: Logs have no passwords of URLs.
func TestTheLogOfAConductorHasNoPasswordsOfURLs(t *testing.T) {
	var out bytes.Buffer
	c, err := New(Config{
		Store:    &Memory{},
		Hardware: map[string]Hardware{"fake-hardware": &Fake{}},
		Log:      slog.New(slog.NewTextHandler(&out, nil)),
	})
	require.NoError(t, err)
	c.config.Log.With("a", "http://u:hunter2@h").Warn("b", "error", errors.New("no answer of http://u:hunter2@h"))
	require.Contains(t, out.String(), `a=http://u:******@h error="no answer of http://u:******@h"`)
	require.NotContains(t, out.String(), "hunter2")
}
