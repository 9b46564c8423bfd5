// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/wire"
)

func TestValuesAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	at := func(nanoseconds int) *time.Time {
		t := time.Date(2026, 11, 23, 7, 0, 0, nanoseconds, time.UTC)
		return &t
	}
	for _, c := range []struct {
		want  string
		write func(w *wire.Writer)
	}{
		{`true,false`, func(w *wire.Writer) { w.Boolean(true); w.Boolean(false) }},
		{`1,-2`, func(w *wire.Writer) { w.Integer(1); w.Integer(-2) }},
		{`"a","bc"`, func(w *wire.Writer) { w.Text("a"); w.Text("b", "c") }},
		{`"\"\\\n","é"`, func(w *wire.Writer) { w.Text("\"\\\n"); w.Text("é") }},
		{`"\ufffd","\ufffda"`, func(w *wire.Writer) { w.Text("\x80"); w.Text("\xffa") }},
		{`null,null,"x"`, func(w *wire.Writer) { w.Null(); w.TextOrNull(""); w.TextOrNull("x") }},
		{`["a","b"],[]`, func(w *wire.Writer) { w.Value([]string{"a", "b"}); w.Texts(nil) }},
		{`[1,[true,null],{"a":"b","c":{}}]`, func(w *wire.Writer) {
			w.Value([]any{json.Number("1"), []any{true, nil}, map[string]any{"c": map[string]any(nil), "a": "b"}})
		}},
		{`1.5,null`, func(w *wire.Writer) { w.Value(1.5); w.Value(math.Inf(1)) }}, // JSON has no infinity
		{`null,null`, func(w *wire.Writer) { w.Time(nil); w.Time(&time.Time{}) }},
		{`"2026-11-23T07:00:00+00:00","2026-11-23T07:00:00+00:00"`, func(w *wire.Writer) { w.Time(at(0)); w.Time(at(999)) }},
		{`"2026-11-23T07:00:00.000001+00:00","2026-11-23T07:00:00.120000+00:00"`,
			func(w *wire.Writer) { w.Time(at(1000)); w.Time(at(120_000_000)) }},
	} {
		w := wire.New(0)
		w.OpenList()
		c.write(w)
		w.CloseList()
		require.Equal(t, "["+c.want+"]", string(w.B))
	}
}

// send answers a request with an object of that many bytes.
func send(to http.ResponseWriter, status, size int) (sent bool) {
	return wire.Send(to, status, func(w *wire.Writer) {
		w.Open()
		w.Key("a").Text(strings.Repeat("x", size-len(`{"a":""}`)))
		w.Close()
	}, func(any) {})
}

func TestAnAnswerOf32KiBHasNoContentLengthAndEachHasItsStatus(t *testing.T) {
	t.Parallel()
	for size, length := range map[int]string{8: "8", 32<<10 - 1: "32767", 32 << 10: "", 100 << 10: ""} {
		w := httptest.NewRecorder()
		require.True(t, send(w, http.StatusAccepted, size))
		require.Equal(t, http.StatusAccepted, w.Code, "%d bytes", size)
		require.Equal(t, size, w.Body.Len())
		require.Equal(t, length, w.Header().Get("Content-Length"))
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
}

func TestAnAnswerWithoutABodyHasNoContentType(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	wire.Reply(w, http.StatusNoContent, nil)
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Header())
}

func TestAPanicInAnAnswerIsLoggedAndNothingOfItIsSent(t *testing.T) {
	t.Parallel()
	w, logged := httptest.NewRecorder(), any(nil)
	require.False(t, wire.Send(w, http.StatusOK, func(w *wire.Writer) {
		w.Open()
		panic("the reason")
	}, func(p any) { logged = p }))
	require.Equal(t, "the reason", logged)
	require.Empty(t, w.Body.String())
	require.Empty(t, w.Header())
}

// The least allocation counts, because a garbage collection may empty the pool.
func TestTheBufferOfAnAnswerIsUsedAgainUnlessItIsLarge(t *testing.T) {
	for size, bounds := range map[int][2]uint64{
		1 << 10:  {0, 8 << 10},
		30 << 10: {0, 8 << 10},
		1 << 20:  {1 << 20, math.MaxUint64},
	} {
		text := strings.Repeat("1", size)
		least := uint64(math.MaxUint64)
		for range 20 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			wire.Send(&counter{}, http.StatusOK, func(w *wire.Writer) { w.Literal(text) }, func(any) {})
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		require.GreaterOrEqual(t, least, bounds[0], "%d bytes", size)
		require.Less(t, least, bounds[1], "%d bytes", size)
	}
}
