// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/exactjson"
)

// FuzzDecode compares the decoder with the standard library's.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`null`, ` {} `, `[]`, `[1, -2.50e+3, 0]`, `{"a": {"b": [true, false, null, "x"]}, "a": 1}`, `"\u00e9\ud83d\ude00\ud800\n\"\\"`,
		"\t[ {\"\" : \"\" } , [ [ ] ] ]\r\n", `1e999`, `[1e999, 2]`, `"é"`, `{"\\": "\\\""}`, `[,]`, `{`, `1 2`,
		`{"a": "a text of most bytes"}`, "\"control\u0001characters\"", `["a text of most bytes`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		measured := newMeter()
		measured.add([]byte(text)) // anything
		halves := newMeter()
		halves.add([]byte(text[:len(text)/2]))
		halves.add([]byte(text[len(text)/2:]))
		require.Equal(t, measured, halves, "as the body arrives in parts")
		require.Equal(t, json.Valid([]byte(text)), json.Valid(measured.withoutPlainText([]byte(text))))
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		var want any
		require.NoError(t, exactjson.Unmarshal([]byte(text), &want))
		d := decoder{text: []byte(text)}
		require.Equal(t, want, d.value())
		require.Equal(t, json.Unmarshal([]byte(text), new(any)) != nil, d.outOfRange, "as the standard library bounds numbers")
		require.LessOrEqual(t, depthOf(want), measured.depth)
		require.LessOrEqual(t, valuesOf(want), measured.values)
	})
}

func valuesOf(v any) int {
	values := 1
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			values += valuesOf(item)
		}
	case []any:
		for _, item := range v {
			values += valuesOf(item)
		}
	}
	return values
}

func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			deepest = max(deepest, depthOf(item))
		}
	case []any:
		for _, item := range v {
			deepest = max(deepest, depthOf(item))
		}
	default:
		return 0
	}
	return deepest + 1
}

// TestTheMeasureBoundsTheMemory decodes the densest JSON of each kind.
func TestTheMeasureBoundsTheMemory(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"` + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + `":0,`)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for _, part := range []string{
		`{}`, `[]`, `0`, `""`, `"a"`, `null`, `1234567890`, `{"":0}`, `{"":{}}`, `[[]]`, `[0]`, `[0,0,0]`, `{"a":[]}`,
		`{` + members(8) + `}`, `{` + members(9) + `}`, `{` + members(300) + `}`,
	} {
		text := []byte("[" + strings.TrimSuffix(strings.Repeat(part+",", (1<<18)/(len(part)+1)), ",") + "]")
		m := newMeter()
		m.add(text)
		measured := m.memory(int64(len(text)))
		needed := int64(math.MaxInt64)
		for range 3 { // the runtime allocates meanwhile, too
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := decoder{text: text}
			v := d.value()
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(v)
			needed = min(needed, int64(after.HeapAlloc)-int64(before.HeapAlloc))
		}
		require.LessOrEqual(t, needed, measured, "%.20s", part)
		t.Logf("%.20s: %d times its length, measured %d", part, needed/int64(len(text)), measured/int64(len(text)))
	}
}
