// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package states_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// word has the methods of every type of the vocabulary. stored adds the methods of
// the types that are stored with a node, for which none is null in JSON and SQL.
type word interface {
	comparable
	fmt.Stringer
	encoding.TextMarshaler
}

type stored interface {
	word
	json.Marshaler
	driver.Valuer
}

type wordPointer[T any] interface {
	*T
	encoding.TextUnmarshaler
}

type storedPointer[T any] interface {
	wordPointer[T]
	json.Unmarshaler
	sql.Scanner
}

func TestRoundTripsAreExact(t *testing.T) {
	t.Run("State", func(t *testing.T) { storedTrip(t, append(slices.Collect(states.AllStates()), states.NoState)) })
	t.Run("Event", func(t *testing.T) { storedTrip(t, append(slices.Collect(states.AllEvents()), states.NoEvent)) })
	t.Run("Power", func(t *testing.T) { storedTrip(t, append(slices.Collect(states.AllPowers()), states.NoPower)) })
	t.Run("Allocation", func(t *testing.T) {
		storedTrip(t, append(slices.Collect(states.AllAllocations()), states.NoAllocation))
	})
	t.Run("Work", func(t *testing.T) { wordTrip(t, append(slices.Collect(states.AllWorks()), states.NoWork)) })
	t.Run("Series", func(t *testing.T) { wordTrip(t, append(slices.Collect(states.AllSeries()), states.NoSeries)) })
	t.Run("APIVersion", func(t *testing.T) {
		versions := make([]states.APIVersion, 1<<16)
		for i := range versions {
			versions[i] = states.APIVersion(i)
		}
		wordTrip(t, versions)
	})
}

func wordTrip[T word, P wordPointer[T]](t *testing.T, values []T) {
	t.Parallel()
	roundTrip(t, values, map[string]func(T) (T, error){
		"text":     throughText[T, P],
		"JSON":     throughTextJSON[T, P],
		"flag":     throughFlag[T, P],
		"text log": throughTextLog[T, P],
	})
}

func storedTrip[T stored, P storedPointer[T]](t *testing.T, values []T) {
	t.Parallel()
	roundTrip(t, values, map[string]func(T) (T, error){
		"text":     throughText[T, P],
		"JSON":     throughJSON[T, P],
		"SQL":      throughSQL[T, P],
		"flag":     throughFlag[T, P],
		"text log": throughTextLog[T, P],
	})
}

// roundTrip takes each value through each encoding. It compares by hand: with
// 65536 API versions, an assertion a step would take seconds.
func roundTrip[T word](t *testing.T, values []T, encodings map[string]func(T) (T, error)) {
	for _, want := range values {
		for name, encode := range encodings {
			if got, err := encode(want); err != nil || got != want {
				t.Errorf("%v through %s: got %v, error %v", want, name, got, err)
			}
		}
	}
}

func throughText[T word, P wordPointer[T]](in T) (out T, err error) {
	text, err := in.MarshalText()
	if err != nil {
		return out, err
	}
	if string(text) != in.String() {
		return out, fmt.Errorf("text is %q, String %q", text, in)
	}
	return out, P(&out).UnmarshalText(text)
}

// throughTextJSON is for types whose JSON form is the text of String.
func throughTextJSON[T word, P wordPointer[T]](in T) (out T, err error) {
	data, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	if want := `"` + in.String() + `"`; string(data) != want {
		return out, fmt.Errorf("JSON is %s", data)
	}
	return out, json.Unmarshal(data, P(&out))
}

// throughJSON encodes a value as a field, a pointer, a list element and a map key.
func throughJSON[T stored, P storedPointer[T]](in T) (out T, err error) {
	type document struct {
		Field   T
		Pointer *T
		List    []T
		Keys    map[T]int
	}
	data, err := json.Marshal(document{in, &in, []T{in}, map[T]int{in: 1}})
	if err != nil {
		return out, err
	}
	word := `"` + in.String() + `"`
	if in.String() == "none" {
		word = "null"
	}
	if want := fmt.Sprintf(`{"Field":%s,"Pointer":%[1]s,"List":[%[1]s],"Keys":{"%s":1}}`, word, in); string(data) != want {
		return out, fmt.Errorf("JSON is %s", data)
	}

	var back document
	if err := json.Unmarshal(data, &back); err != nil {
		return out, err
	}
	if word != "null" && *back.Pointer != in || back.List[0] != in || back.Keys[in] != 1 {
		return out, fmt.Errorf("back from JSON as %v", back)
	}
	return back.Field, nil
}

func throughSQL[T stored, P storedPointer[T]](in T) (out T, err error) {
	stored, err := in.Value()
	if err != nil {
		return out, err
	}
	if !driver.IsValue(stored) || (stored == nil) != (in.String() == "none") {
		return out, fmt.Errorf("SQL value is %#v", stored)
	}
	if word, ok := stored.(string); ok {
		var fromBytes T
		if err := P(&fromBytes).Scan([]byte(word)); err != nil || fromBytes != in {
			return out, fmt.Errorf("scanned %v from bytes, error %w", fromBytes, err)
		}
	}
	return out, P(&out).Scan(stored)
}

func throughFlag[T word, P wordPointer[T]](in T) (out T, err error) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.TextVar(P(&out), "value", in, "")
	err = flags.Parse([]string{"-value", in.String()})
	if got := flags.Lookup("value").Value.String(); got != in.String() {
		return out, fmt.Errorf("the flag prints as %q", got)
	}
	return out, err
}

func throughTextLog[T word, P wordPointer[T]](in T) (out T, err error) {
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "value", in)
	_, text, _ := strings.Cut(log.String(), " value=")
	return out, P(&out).UnmarshalText([]byte(strings.Trim(text, "\"\n")))
}

func TestNoneIsNull(t *testing.T) {
	t.Run("State", func(t *testing.T) { none(t, states.Enroll) })
	t.Run("Event", func(t *testing.T) { none(t, states.EventManage) })
	t.Run("Power", func(t *testing.T) { none(t, states.PowerOn) })
	t.Run("Allocation", func(t *testing.T) { none(t, states.Allocating) })
}

func none[T stored, P storedPointer[T]](t *testing.T, some T) {
	var zero T
	for name, decode := range map[string]func(P) error{
		"JSON":         func(p P) error { return p.UnmarshalJSON([]byte("null")) },
		"JSON map key": func(p P) error { return p.UnmarshalJSON([]byte(`"none"`)) },
		"empty JSON":   func(p P) error { return p.UnmarshalJSON([]byte(`""`)) },
		"SQL":          func(p P) error { return p.Scan(nil) },
		"empty SQL":    func(p P) error { return p.Scan("") },
		"empty text":   func(p P) error { return p.UnmarshalText(nil) },
		"text":         func(p P) error { return p.UnmarshalText([]byte("none")) },
	} {
		value := some
		require.NoError(t, decode(&value), name)
		require.Equal(t, zero, value, name)
	}
}

func TestReceiversKeepTheirValueOnError(t *testing.T) {
	t.Run("State", func(t *testing.T) { storedKept(t, states.Enroll) })
	t.Run("Event", func(t *testing.T) { storedKept(t, states.EventManage) })
	t.Run("Power", func(t *testing.T) { storedKept(t, states.PowerOn) })
	t.Run("Allocation", func(t *testing.T) { storedKept(t, states.Allocating) })
	t.Run("Work", func(t *testing.T) { kept(t, states.WorkClean) })
	t.Run("Series", func(t *testing.T) { kept(t, states.Kilo) })
	t.Run("APIVersion", func(t *testing.T) { kept(t, states.APIVersion(81)) })
}

// requireForeign fails the test unless err reports an unknown word.
func requireForeign(t *testing.T, err error, quoted string) {
	t.Helper()
	var unknown *states.UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, quoted, unknown.Word)
}

func kept[T word, P wordPointer[T]](t *testing.T, some T) {
	got := some
	requireForeign(t, P(&got).UnmarshalText([]byte("nonsense")), "nonsense")
	requireForeign(t, P(&got).UnmarshalText([]byte(" ")), " ")
	for _, data := range []string{`7`, `true`, `["enroll"]`, `{}`, `"nonsense"`} {
		require.Error(t, json.Unmarshal([]byte(data), P(&got)), data)
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(P(&got), "value", some, "")
	require.ErrorContains(t, flags.Parse([]string{"-value", "nonsense"}), `"nonsense"`)
	require.Equal(t, some, got)
}

func storedKept[T stored, P storedPointer[T]](t *testing.T, some T) {
	kept[T, P](t, some)
	got := some
	for _, data := range []string{`7`, `true`, `["enroll"]`, `{}`, `"enroll`, ``} {
		requireForeign(t, P(&got).UnmarshalJSON([]byte(data)), data)
	}
	requireForeign(t, P(&got).UnmarshalJSON([]byte(`"nonsense"`)), "nonsense")
	requireForeign(t, P(&got).Scan("nonsense"), "nonsense")
	requireForeign(t, P(&got).Scan([]byte("nonsense")), "nonsense")
	requireForeign(t, P(&got).Scan(int64(7)), "int64(7)")
	require.Equal(t, some, got)
}

func TestNumbersOutOfRange(t *testing.T) {
	t.Run("State", func(t *testing.T) { storedOutOfRange(t, states.ServiceHold, "State(%d)") })
	t.Run("Event", func(t *testing.T) { storedOutOfRange(t, states.EventError, "Event(%d)") })
	t.Run("Power", func(t *testing.T) { storedOutOfRange(t, states.PowerError, "Power(%d)") })
	t.Run("Allocation", func(t *testing.T) { storedOutOfRange(t, states.AllocationError, "Allocation(%d)") })
	t.Run("Work", func(t *testing.T) { outOfRange(t, states.WorkDelete, "Work(%d)") })
	t.Run("Series", func(t *testing.T) { outOfRange(t, states.Latest(), "Series(%d)") })
}

func outOfRange[T interface {
	~uint8
	word
}](t *testing.T, last T, format string) {
	for n := int(last) + 1; n <= 255; n++ {
		value := T(n)
		text := fmt.Sprintf(format, n)
		require.Equal(t, text, value.String())
		_, err := value.MarshalText()
		require.ErrorAs(t, err, new(*states.UnknownError))
		require.ErrorContains(t, err, text)
		_, err = json.Marshal(value)
		require.ErrorContains(t, err, text)
		_, err = json.Marshal(map[T]int{value: 1})
		require.ErrorContains(t, err, text)
	}
}

func storedOutOfRange[T interface {
	~uint8
	stored
}](t *testing.T, last T, format string) {
	outOfRange(t, last, format)
	for n := int(last) + 1; n <= 255; n++ {
		_, err := T(n).Value()
		require.ErrorAs(t, err, new(*states.UnknownError))
	}
}
