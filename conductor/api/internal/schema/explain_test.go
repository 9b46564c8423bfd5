// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
)

// The texts were made by str(best_match(errors)) of Python's jsonschema 4.10.
func TestExplainShowsTheSchemaAndThePartOfTheValue(t *testing.T) {
	t.Parallel()
	steps := &Schema{Types: []string{"array"}, MinItems: 1, Items: &Schema{
		Types: []string{"object"}, Required: []string{"step"}, Closed: true,
		Properties: []Property{
			{"args", &Schema{Types: ObjectOrNull}},
			{"order", &Schema{AnyOf: []*Schema{{Types: []string{"integer"}, Min: "0"},
				{Types: TextType, MinLength: 1, Pattern: regexp.MustCompile("^[0-9]+$")}}}},
			{"step", &Schema{Types: TextType, Enum: []string{"a", "b"}, Description: "the step's name"}},
		},
	}}
	for _, c := range []struct {
		schema      *Schema
		value, want string
	}{
		{steps, `[{"step": "a"}, {"step": "c"}]`, `'c' is not one of ['a', 'b']

Failed validating 'enum' in schema['items']['properties']['step']:
    {'description': "the step's name", 'enum': ['a', 'b'], 'type': 'string'}

On instance[1]['step']:
    'c'`},
		{steps, `[{"step": "a", "order": -1}]`, `-1 is less than the minimum of 0

Failed validating 'minimum' in schema[0]:
    {'minimum': 0, 'type': 'integer'}

On instance:
    -1`},
		{steps, `[{"step": "a", "order": []}]`, `[] is not valid under any of the given schemas

Failed validating 'anyOf' in schema['items']['properties']['order']:
    {'anyOf': [{'minimum': 0, 'type': 'integer'},
               {'minLength': 1, 'pattern': '^[0-9]+$', 'type': 'string'}]}

On instance[0]['order']:
    []`},
		{steps, `[{"step": "a", "b": 1}]`, `Additional properties are not allowed ('b' was unexpected)

Failed validating 'additionalProperties' in schema['items']:
    {'additionalProperties': False,
     'properties': {'args': {'type': ['object', 'null']},
                    'order': {'anyOf': [{'minimum': 0, 'type': 'integer'},
                                        {'minLength': 1,
                                         'pattern': '^[0-9]+$',
                                         'type': 'string'}]},
                    'step': {'description': "the step's name",
                             'enum': ['a', 'b'],
                             'type': 'string'}},
     'required': ['step'],
     'type': 'object'}

On instance[0]:
    {'b': 1, 'step': 'a'}`},
		{&Schema{Types: []string{"array"}, Items: Text}, `"a"`, `'a' is not of type 'array'

Failed validating 'type' in schema:
    {'items': {'type': 'string'}, 'type': 'array'}

On instance:
    'a'`},
		{&Schema{Enum: []string{"a"}}, `5`, `5 is not one of ['a']

Failed validating 'enum' in schema:
    {'enum': ['a']}

On instance:
    5`},
		{&Schema{Types: []string{"object"}, Secret: true}, `"hunter2"`, `The value is not of type 'object'

Failed validating 'type' in schema:
    {'type': 'object'}

On instance:
    '******'`},
		{&Schema{Types: []string{"object"}, Secret: true}, `5`, `5 is not of type 'object'

Failed validating 'type' in schema:
    {'type': 'object'}

On instance:
    5`},
	} {
		require.Equal(t, c.want, c.schema.Explain(decode(t, c.value)), c.value)
	}
}

// A number is shown on one line, however long it is.
func TestExplainShortensALongValue(t *testing.T) {
	t.Parallel()
	for length, shown := range map[int]string{
		fault.MaxShown:     strings.Repeat("1", fault.MaxShown),
		fault.MaxShown + 1: "'" + strings.Repeat("1", fault.MaxShown) + "...'",
	} {
		text := Text.Explain(decode(t, strings.Repeat("1", length)))
		_, instance, _ := strings.Cut(text, "On instance:\n    ")
		require.Equal(t, shown, instance)
	}
}
