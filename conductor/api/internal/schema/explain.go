// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// Explain returns the text of the violation that explains best why a value is refused, with the
// schema and the part of the value, or "" for a valid value. It hides a part that is secret as a whole or too long, and
// the values whose names say that they are secrets.
//
// Source: the text of an error of the Python package jsonschema.
func (s *Schema) Explain(value any) string {
	violations := s.check(value, 0)
	if len(violations) == 0 {
		return ""
	}
	v := bestMatch(violations, s.Recent)
	part := masked.Value(v.value)
	switch {
	case v.schema.Secret && HasText(part):
		part = masked.Secret
	case len(fault.Repr(part)) > fault.MaxShown:
		part = fault.Show(fault.Repr(part))
	}
	const width, indent = 72, "\n    "
	pretty := func(v any) string { return strings.ReplaceAll(pyrepr.Pretty(v, width), "\n", indent) }
	return fmt.Sprintf("%s\n\nFailed validating '%s' in schema%s:%s%s\n\nOn instance%s:%s%s",
		v.text(), v.keyword, v.in, indent, pretty(v.schema.document()), v.at, indent, pretty(part))
}

// document returns the schema as a JSON document, with the keywords that the schemas of steps use.
func (s *Schema) document() map[string]any {
	d := map[string]any{}
	switch len(s.Types) {
	case 0:
	case 1:
		d["type"] = s.Types[0]
	default:
		d["type"] = anyList(s.Types)
	}
	if s.Enum != nil {
		d["enum"] = anyList(s.Enum)
	}
	if s.MinLength > 0 {
		d["minLength"] = json.Number(strconv.Itoa(s.MinLength))
	}
	if s.Min != "" {
		d["minimum"] = s.Min
	}
	if s.Pattern != nil {
		d["pattern"] = s.Pattern.String()
	}
	if s.Description != "" {
		d["description"] = s.Description
	}
	if s.Items != nil {
		d["items"] = s.Items.document()
	}
	var alternatives []any
	for _, alternative := range s.AnyOf {
		alternatives = append(alternatives, alternative.document())
	}
	if alternatives != nil {
		d["anyOf"] = alternatives
	}
	if s.Properties != nil {
		properties := map[string]any{}
		for _, p := range s.Properties {
			properties[p.Name] = p.document()
		}
		d["properties"] = properties
	}
	if s.Required != nil {
		d["required"] = anyList(s.Required)
	}
	if s.Closed {
		d["additionalProperties"] = false
	}
	return d
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}
