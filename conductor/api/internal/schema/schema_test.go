// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// decode returns decoded JSON with numbers as they are written.
func decode(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// The texts were made by Python's jsonschema 4.10.
func TestRefusalHasTheTextOfTheMostRelevantViolation(t *testing.T) {
	t.Parallel()
	long := func(n int) *Schema { return &Schema{Types: TextType, MinLength: n} }
	two := &Schema{AnyOf: []*Schema{long(5), {Types: []string{"object"}}}}
	closed := &Schema{Closed: true, Properties: []Property{{"a", Text}}, Required: []string{"a"}}
	closedFirst := *closed
	closedFirst.ClosedFirst = true
	needs := &Schema{Needs: [][2]string{{"a", "b"}}}
	var many, shown []string
	for i := range 25 {
		many = append(many, fmt.Sprintf(`"k%02d": 1`, i))
		shown = append(shown, fmt.Sprintf("'k%02d'", i))
	}
	for _, c := range []struct {
		schema      *Schema
		value       string
		text, cause string // empty if the value is valid
	}{
		{&Schema{}, `5`, "", ""},
		{Text, `"a"`, "", ""},
		{Text, `5`, "5 is not of type 'string'", ""},
		{&Schema{Types: TextOrNull}, `null`, "", ""},
		{&Schema{Types: TextOrNull}, `true`, "True is not of type 'string', 'null'", ""},
		{&Schema{Types: []string{"integer"}}, `1.0`, "", ""},
		{&Schema{Types: []string{"integer"}}, `1.5`, "1.5 is not of type 'integer'", ""},
		{&Schema{Types: []string{"integer"}, Draft4: true}, `1`, "", ""},
		{&Schema{Types: []string{"integer"}, Draft4: true}, `1.0`, "1.0 is not of type 'integer'", ""},
		{&Schema{Types: []string{"number"}, Draft4: true}, `1.0`, "", ""},

		{&Schema{MinLength: 2}, `"äö"`, "", ""},
		{&Schema{MinLength: 2}, `"ä"`, "'ä' is too short", ""},
		{&Schema{MaxLength: 2}, `"äö"`, "", ""},
		{&Schema{MaxLength: 2}, `"äöü"`, "'äöü' is too long", ""},
		{&Schema{Pattern: regexp.MustCompile("^a")}, `"ab"`, "", ""},
		{&Schema{Pattern: regexp.MustCompile("^a")}, `"b"`, "'b' does not match '^a'", ""},
		{&Schema{Pattern: regexp.MustCompile(`^a\z`), PatternText: `^a\Z`}, `"b"`, `'b' does not match '^a\\Z'`, ""},
		{&Schema{Enum: []string{"a", "b"}}, `"b"`, "", ""},
		{&Schema{Enum: []string{"a", "b"}}, `"c"`, "'c' is not one of ['a', 'b']", ""},
		{&Schema{Enum: []string{"", "b"}}, `5`, "5 is not one of ['', 'b']", ""},

		{&Schema{Min: "2"}, `2`, "", ""},
		{&Schema{Min: "2"}, `1`, "1 is less than the minimum of 2", ""},
		{&Schema{Min: "2", Above: true}, `3`, "", ""},
		{&Schema{Min: "2", Above: true}, `2`, "2 is less than or equal to the minimum of 2", ""},
		{&Schema{Above: true}, `0`, "", ""},

		{&Schema{MinItems: 1}, `[5]`, "", ""},
		{&Schema{MinItems: 1}, `[]`, "[] is too short", ""},
		{&Schema{Items: Text}, `["a", 5]`, "5 is not of type 'string'", ""},
		{&Schema{Items: Text, MinItems: 2}, `[5]`, "[5] is too short", ""}, // the violation above comes first
		{&Schema{Items: Text}, `[5, 6]`, "5 is not of type 'string'", ""},  // the first of equal ones
		{&Schema{Items: &Schema{Items: Text}}, `[[5], 6]`, "5 is not of type 'string'", ""},

		{two, `{}`, "", ""},
		{two, `"abcde"`, "", ""},
		{two, `"a"`, "'a' is too short", ""},
		{&Schema{AnyOf: []*Schema{{Types: []string{"object"}}, long(5)}}, `"a"`, "'a' is too short", ""},
		{two, `5`, "5 is not valid under any of the given schemas", "5 is not of type 'string'"},
		{&Schema{AnyOf: []*Schema{Text}}, `5`, "5 is not of type 'string'", ""},
		{&Schema{AnyOf: []*Schema{two}}, `5`, "5 is not valid under any of the given schemas", "5 is not of type 'string'"},
		{&Schema{AnyOf: []*Schema{Text}, Required: []string{"a"}}, `{}`, "'a' is a required property", ""},
		{&Schema{AnyOf: []*Schema{two, {AnyOf: []*Schema{long(1), Text}}}}, `5`,
			"5 is not valid under any of the given schemas", "5 is not of type 'string'"},
		{&Schema{AnyOf: []*Schema{two, {Enum: []string{"a"}}}}, `5`,
			"5 is not valid under any of the given schemas", "5 is not of type 'string'"},
		{&Schema{AnyOf: []*Schema{{Properties: []Property{{"a", Text}}}, {Required: []string{"b"}}}}, `{"a": 5}`,
			"5 is not of type 'string'", ""},

		{closed, `{"a": "x"}`, "", ""},
		{closed, `{"a": 5}`, "5 is not of type 'string'", ""},
		{closed, `{}`, "'a' is a required property", ""},
		{closed, `{"b": 1}`, "'a' is a required property", ""},
		{&closedFirst, `{"b": 1}`, "Additional properties are not allowed ('b' was unexpected)", ""},
		{closed, `{"a": "x", "c": 1, "b": 1}`, "Additional properties are not allowed ('b', 'c' were unexpected)", ""},
		{closed, `{"a": "x", ` + strings.Join(many, ", ") + `}`, // jsonschema lists all of them
			"Additional properties are not allowed (" + strings.Join(shown[:20], ", ") + " were unexpected)", ""},
		{&Schema{Properties: []Property{{"a", Text}}}, `{"b": 5}`, "", ""},
		{needs, `{"b": 1}`, "", ""},
		{needs, `{"a": 1, "b": 1}`, "", ""},
		{needs, `{}`, "", ""},
		{needs, `{"a": 1}`, "'b' is a dependency of 'a'", ""},

		{&Schema{Types: []string{"object"}, Secret: true}, `"hunter2"`, "The value is not of type 'object'", ""},
		{&Schema{Types: []string{"object"}, Secret: true}, `5`, "5 is not of type 'object'", ""},
		{&Schema{Types: []string{"object"}}, `"x"`, "'x' is not of type 'object'", ""},
	} {
		value := decode(t, c.value)
		text, cause, refused := c.schema.Refusal(value)
		require.Equal(t, c.text, text, "%s: %s", c.schema.document(), c.value)
		require.Equal(t, c.cause, cause, "%s: %s", c.schema.document(), c.value)
		require.Equal(t, c.text != "", refused)

		err := c.schema.Validate("field", value)
		var f *fault.Fault
		switch {
		case c.text == "":
			require.NoError(t, err)
			require.Empty(t, c.schema.Explain(value))
			continue
		case c.cause != "":
			c.text += ". Possible root cause: " + c.cause
		}
		require.True(t, errors.As(err, &f))
		require.Equal(t, "Schema error for field: "+c.text, f.Text)
	}
}

func TestAValueHasTheTypesOfJSONSchema(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`: "null", `""`: "string", `true`: "boolean", `[]`: "array", `{}`: "object",
		`1`: "integer number", `-1.0`: "integer number", `1e2`: "integer number", `1.5`: "number", `1e999`: "number",
	} {
		require.Equal(t, want, strings.Join(TypesOf(decode(t, value)), " "), value)
	}
}

func TestAValueWithTextMayBeASecret(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		`null`: false, `5`: false, `""`: false, `"a"`: true, `[]`: false, `[5, ""]`: false, `[5, "a"]`: true, `{}`: false, `{"a": 1}`: true,
	} {
		require.Equal(t, want, HasText(decode(t, value)), value)
	}
}
