// SPDX-License-Identifier: Apache-2.0

package states_test

import (
	"database/sql"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ironstate/ironstate/states"
)

// seed adds every word of the package, and some that almost equal one.
func seed(f *testing.F) {
	for _, word := range requestWords() {
		if len(word) < 100 {
			f.Add(word)
		}
	}
	for s := range states.AllSeries() {
		f.Add(s.String())
	}
	for _, text := range []string{"1.1", "1.81", "1.081", "1.65536", "1.+1", "hibiscus", "null", `"active"`, "power off"} {
		f.Add(text)
	}
}

// fuzzParser checks that a parser accepts only the texts that String prints, and the
// empty text.
func fuzzParser[T fmt.Stringer](f *testing.F, parse func(string) (T, error)) {
	seed(f)
	f.Fuzz(func(t *testing.T, word string) {
		value, err := parse(word)
		if err == nil && value.String() != orNone(word) {
			t.Fatalf("took %q for %v", word, value)
		}
		checkUnknown(t, err)
	})
}

func checkUnknown(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var unknown *states.UnknownError
	if !errors.As(err, &unknown) || len(err.Error()) > 2000 {
		t.Fatalf("not a good error: %v", err)
	}
}

func FuzzParse(f *testing.F)           { fuzzParser(f, states.Parse) }
func FuzzParseEvent(f *testing.F)      { fuzzParser(f, states.ParseEvent) }
func FuzzParsePower(f *testing.F)      { fuzzParser(f, states.ParsePower) }
func FuzzParseAllocation(f *testing.F) { fuzzParser(f, states.ParseAllocation) }
func FuzzParseAPIVersion(f *testing.F) { fuzzParser(f, states.ParseAPIVersion) }

func FuzzParseSeries(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, word string) {
		series, err := states.ParseSeries(word)
		lower := strings.ToLower(word)
		if err == nil && series.String() != orNone(lower) && codeNames[lower] != series {
			t.Fatalf("took %q for %v", word, series)
		}
		checkUnknown(t, err)
	})
}

func FuzzParseVerb(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, word string) {
		event, err := states.ParseVerb(word)
		if action, ok := actions[word]; ok != (err == nil) || ok && event.String() != action.event {
			t.Fatalf("took %q for %v, error %v", word, event, err)
		}
		checkUnknown(t, err)
	})
}

// decoder has the decoding methods of the vocabulary's types.
type decoder interface {
	encoding.TextUnmarshaler
	json.Unmarshaler
	sql.Scanner
	fmt.Stringer
}

// FuzzDecode checks that each decoder accepts a word if and only if the parser does,
// and decodes null as none.
func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data string) {
		for _, decoder := range []decoder{
			new(states.State), new(states.Event), new(states.Power), new(states.Allocation),
		} {
			fuzzDecoder(t, decoder, data)
		}
	})
}

func fuzzDecoder(t *testing.T, value decoder, data string) {
	scanErr := value.Scan(data)
	checkUnknown(t, scanErr)
	if scanErr == nil && !stands(value, data) {
		t.Fatalf("%T: scanned %q as %v", value, data, value)
	}
	textErr := value.UnmarshalText([]byte(data))
	checkUnknown(t, textErr)
	if (textErr == nil) != (scanErr == nil) {
		t.Fatalf("%T: %q as text: %v; as SQL: %v", value, data, textErr, scanErr)
	}

	jsonErr := value.UnmarshalJSON([]byte(data))
	checkUnknown(t, jsonErr)
	if jsonErr != nil {
		return
	}
	var word *string
	if err := json.Unmarshal([]byte(data), &word); err != nil {
		t.Fatalf("%T: took %q, which is no JSON: %v", value, data, err)
	}
	if !stands(value, wordOf(word)) {
		t.Fatalf("%T: took %s for %v", value, data, value)
	}
}

// stands reports whether a word stands for a value.
func stands(value decoder, word string) bool { return value.String() == orNone(word) }

func orNone(word string) string {
	if word == "" {
		return "none"
	}
	return word
}

func FuzzRequest(f *testing.F) {
	for _, word := range requestWords() {
		f.Add(uint8(states.Latest()), uint8(states.Available), word, uint16(81))
	}
	f.Fuzz(func(t *testing.T, series, from uint8, word string, version uint16) {
		table := states.Series(series).Table()
		event, err := table.Request(states.State(from), word, states.APIVersion(version))
		if err == nil {
			if _, ok := table.Next(states.State(from), event); !ok || actions[word].event != event.String() {
				t.Fatalf("took %q in %v for %v", word, states.State(from), event)
			}
			return
		}
		var refusal *states.RequestError
		if !errors.As(err, &refusal) || len(err.Error()) > 2000 {
			t.Fatalf("not a good error: %v", err)
		}
		if status := refusal.HTTPStatus(); status != 400 && status != 406 {
			t.Fatalf("status %d", status)
		}
	})
}
