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

// value is what every type of the vocabulary can do, pointer what its pointer
// can.
type value interface {
	comparable
	fmt.Stringer
	encoding.TextAppender
	encoding.TextMarshaler
	json.Marshaler
	driver.Valuer
	slog.LogValuer
}

type pointer[T any] interface {
	*T
	encoding.TextUnmarshaler
	json.Unmarshaler
	sql.Scanner
	flag.Value
}

func TestRoundTripsAreExact(t *testing.T) {
	t.Run("State", func(t *testing.T) { roundTrip(t, append(slices.Collect(states.AllStates()), states.NoState)) })
	t.Run("Event", func(t *testing.T) { roundTrip(t, append(slices.Collect(states.AllEvents()), states.NoEvent)) })
	t.Run("Power", func(t *testing.T) { roundTrip(t, append(slices.Collect(states.AllPowers()), states.NoPower)) })
	t.Run("Allocation", func(t *testing.T) {
		roundTrip(t, append(slices.Collect(states.AllAllocations()), states.NoAllocation))
	})
	t.Run("Series", func(t *testing.T) { roundTrip(t, append(slices.Collect(states.AllSeries()), states.NoSeries)) })
	t.Run("APIVersion", func(t *testing.T) {
		versions := make([]states.APIVersion, 1<<16)
		for i := range versions {
			versions[i] = states.APIVersion(i)
		}
		roundTrip(t, versions)
	})
}

// roundTrip takes each value through each encoding. It compares by hand: with
// 65536 API versions, an assertion a step would take seconds.
func roundTrip[T value, P pointer[T]](t *testing.T, values []T) {
	t.Parallel()
	encodings := map[string]func(T) (T, error){
		"text":      throughText[T, P],
		"JSON":      throughJSON[T, P],
		"SQL":       throughSQL[T, P],
		"flag":      throughFlag[T, P],
		"text log":  throughTextLog[T, P],
		"JSON log":  throughJSONLog[T, P],
		"appending": throughAppend[T, P],
	}
	for _, want := range values {
		for name, encode := range encodings {
			if got, err := encode(want); err != nil || got != want {
				t.Errorf("%v through %s: got %v, error %v", want, name, got, err)
			}
		}
	}
}

func throughText[T value, P pointer[T]](in T) (out T, err error) {
	text, err := in.MarshalText()
	if err != nil {
		return out, err
	}
	if string(text) != in.String() {
		return out, fmt.Errorf("text is %q, String %q", text, in)
	}
	return out, P(&out).UnmarshalText(text)
}

func throughAppend[T value, P pointer[T]](in T) (out T, err error) {
	text, err := in.AppendText([]byte("before "))
	if err != nil {
		return out, err
	}
	after, ok := bytes.CutPrefix(text, []byte("before "))
	if !ok {
		return out, fmt.Errorf("lost what was there: %q", text)
	}
	return out, P(&out).UnmarshalText(after)
}

// throughJSON goes by way of a field, a pointer, a list and a map key.
func throughJSON[T value, P pointer[T]](in T) (out T, err error) {
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

func throughSQL[T value, P pointer[T]](in T) (out T, err error) {
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

func throughFlag[T value, P pointer[T]](in T) (out T, err error) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.Var(P(&out), "value", "")
	err = flags.Parse([]string{"-value", in.String()})
	if got := flags.Lookup("value").Value.String(); got != in.String() {
		return out, fmt.Errorf("the flag prints as %q", got)
	}
	return out, err
}

func throughTextLog[T value, P pointer[T]](in T) (out T, err error) {
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "value", in)
	_, word, _ := strings.Cut(log.String(), " value=")
	return out, P(&out).UnmarshalText([]byte(strings.Trim(word, "\"\n")))
}

func throughJSONLog[T value, P pointer[T]](in T) (out T, err error) {
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "value", in)
	var line struct{ Value string }
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		return out, err
	}
	return out, P(&out).UnmarshalText([]byte(line.Value))
}

func TestNoneIsNull(t *testing.T) {
	t.Run("State", func(t *testing.T) { none(t, states.Enroll) })
	t.Run("Event", func(t *testing.T) { none(t, states.EventManage) })
	t.Run("Power", func(t *testing.T) { none(t, states.PowerOn) })
	t.Run("Allocation", func(t *testing.T) { none(t, states.Allocating) })
	t.Run("Series", func(t *testing.T) { none(t, states.Kilo) })
	t.Run("APIVersion", func(t *testing.T) { none(t, states.APIVersion(81)) })
}

func none[T value, P pointer[T]](t *testing.T, some T) {
	var zero T
	for name, decode := range map[string]func(P) error{
		"JSON":         func(p P) error { return p.UnmarshalJSON([]byte("null")) },
		"JSON map key": func(p P) error { return p.UnmarshalJSON([]byte(`"none"`)) },
		"SQL":          func(p P) error { return p.Scan(nil) },
		"text":         func(p P) error { return p.UnmarshalText([]byte("none")) },
		"flag":         func(p P) error { return p.Set("none") },
	} {
		value := some
		require.NoError(t, decode(&value), name)
		require.Equal(t, zero, value, name)
	}
}

func TestReceiversKeepTheirValueOnError(t *testing.T) {
	t.Run("State", func(t *testing.T) { kept(t, states.Enroll) })
	t.Run("Event", func(t *testing.T) { kept(t, states.EventManage) })
	t.Run("Power", func(t *testing.T) { kept(t, states.PowerOn) })
	t.Run("Allocation", func(t *testing.T) { kept(t, states.Allocating) })
	t.Run("Series", func(t *testing.T) { kept(t, states.Kilo) })
	t.Run("APIVersion", func(t *testing.T) { kept(t, states.APIVersion(81)) })
}

func kept[T value, P pointer[T]](t *testing.T, some T) {
	got := some
	foreign := func(err error, quoted string) {
		t.Helper()
		var unknown *states.UnknownError
		require.ErrorAs(t, err, &unknown)
		require.ErrorIs(t, err, states.ErrUnknown)
		require.Equal(t, quoted, unknown.Word)
		require.Equal(t, some, got)
	}
	foreign(P(&got).UnmarshalText([]byte("nonsense")), "nonsense")
	foreign(P(&got).Set(" "), " ")
	for _, data := range []string{`7`, `true`, `["enroll"]`, `{}`, `"enroll`, ``} {
		foreign(P(&got).UnmarshalJSON([]byte(data)), data)
	}
	foreign(P(&got).UnmarshalJSON([]byte(`"nonsense"`)), "nonsense")
	foreign(P(&got).Scan("nonsense"), "nonsense")
	foreign(P(&got).Scan([]byte("nonsense")), "nonsense")
	foreign(P(&got).Scan(int64(7)), "int64")

	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(P(&got), "value", "")
	require.ErrorContains(t, flags.Parse([]string{"-value", "nonsense"}), `"nonsense"`)
	require.Equal(t, some, got)
}

func TestNumbersOutOfRange(t *testing.T) {
	t.Run("State", func(t *testing.T) { outOfRange(t, states.ServiceHold, "State(%d)") })
	t.Run("Event", func(t *testing.T) { outOfRange(t, states.EventError, "Event(%d)") })
	t.Run("Power", func(t *testing.T) { outOfRange(t, states.PowerError, "Power(%d)") })
	t.Run("Allocation", func(t *testing.T) { outOfRange(t, states.AllocationError, "Allocation(%d)") })
	t.Run("Series", func(t *testing.T) { outOfRange(t, states.Latest(), "Series(%d)") })
}

func outOfRange[T interface {
	~uint8
	value
}](t *testing.T, last T, format string) {
	for n := int(last) + 1; n <= 255; n++ {
		value := T(n)
		text := fmt.Sprintf(format, n)
		require.Equal(t, text, value.String())
		require.Equal(t, text, value.LogValue().String())

		before := []byte("before")
		appended, err := value.AppendText(before)
		require.ErrorIs(t, err, states.ErrUnknown)
		require.ErrorContains(t, err, text)
		require.Equal(t, before, appended)

		_, err = value.MarshalText()
		require.ErrorIs(t, err, states.ErrUnknown)
		_, err = json.Marshal(value)
		require.ErrorContains(t, err, text)
		_, err = json.Marshal(map[T]int{value: 1})
		require.ErrorContains(t, err, text)
		_, err = value.Value()
		require.ErrorIs(t, err, states.ErrUnknown)
	}
}
