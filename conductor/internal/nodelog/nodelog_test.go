// SPDX-License-Identifier: Apache-2.0

package nodelog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/internal/nodelog"
)

var names = map[string]string{"u": "rack1-7"}

func handler(out *bytes.Buffer) slog.Handler {
	return nodelog.Handler{Handler: slog.NewTextHandler(out, nil), Name: func(uuid string) string { return names[uuid] }}
}

// A slog.Handler may not modify the attributes of a record, which other handlers get too.
func TestTheNameOfANodeIsAddedToACopyOfTheRecord(t *testing.T) {
	var out bytes.Buffer
	h := handler(&out)
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

func TestRecordsOfOtherNodesAndOfNoNodeHaveNoName(t *testing.T) {
	var out bytes.Buffer
	h := handler(&out).WithAttrs([]slog.Attr{slog.Int("round", 1)}).WithGroup("of")
	for _, attr := range []slog.Attr{slog.String("node", "u"), slog.String("node", "another"), slog.String("key", "u")} {
		r := slog.NewRecord(time.Time{}, slog.LevelInfo, "text", 0)
		r.AddAttrs(attr)
		require.NoError(t, h.Handle(t.Context(), r))
	}
	require.Equal(t, "level=INFO msg=text round=1 of.node=u of.name=rack1-7\n"+
		"level=INFO msg=text round=1 of.node=another\nlevel=INFO msg=text round=1 of.key=u\n", out.String())
}
