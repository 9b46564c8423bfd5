package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// explain returns the text of the violation that explains best why a value is refused, with the
// schema and the part of the value, or "" for a valid value. It hides secrets, and a part that is
// too long.
//
// Source: the text of an error of the Python package jsonschema.
func (s *schema) explain(value any) string {
	violations := s.check(value, 0)
	if len(violations) == 0 {
		return ""
	}
	v := bestMatch(violations)
	part := masked.Value(v.value)
	switch {
	case v.schema.secret && hasText(part):
		part = masked.Secret
	case len(repr(part)) > maxShown:
		part = show(repr(part))
	}
	const width, indent = 72, "\n    "
	pretty := func(v any) string { return strings.ReplaceAll(pyrepr.Pretty(v, width), "\n", indent) }
	return fmt.Sprintf("%s\n\nFailed validating '%s' in schema%s:%s%s\n\nOn instance%s:%s%s",
		v.text(), v.keyword, v.in, indent, pretty(v.schema.document()), v.at, indent, pretty(part))
}

// document returns the schema as a JSON document.
func (s *schema) document() map[string]any {
	d := map[string]any{}
	switch len(s.types) {
	case 0:
	case 1:
		d["type"] = s.types[0]
	default:
		d["type"] = anyList(s.types)
	}
	if s.enum != nil {
		d["enum"] = anyList(s.enum)
	}
	if s.minLength > 0 {
		d["minLength"] = json.Number(strconv.Itoa(s.minLength))
	}
	if s.min != "" {
		d["minimum"] = s.min
	}
	if s.pattern != nil {
		d["pattern"] = s.pattern.String()
	}
	if s.description != "" {
		d["description"] = s.description
	}
	if s.items != nil {
		d["items"] = s.items.document()
	}
	var alternatives []any
	for _, alternative := range s.anyOf {
		alternatives = append(alternatives, alternative.document())
	}
	if alternatives != nil {
		d["anyOf"] = alternatives
	}
	if s.properties != nil {
		properties := map[string]any{}
		for _, p := range s.properties {
			properties[p.name] = p.document()
		}
		d["properties"] = properties
	}
	if s.required != nil {
		d["required"] = anyList(s.required)
	}
	if s.closed {
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
