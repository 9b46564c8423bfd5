// SPDX-License-Identifier: Apache-2.0

// Package schema checks decoded JSON against JSON schemas. Its faults have the texts of the Python package
// jsonschema, which Ironic uses: schema.go finds the violations, and explain.go writes the long form of their text.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// Schema has the keywords of JSON schemas that Ironic's schemas use. The zero value of a field does not
// restrict the value. The texts of violations, and the choice of the reported violation, are the same as in
// the Python package jsonschema.
type Schema struct {
	Types                []string // the names of JSON types
	Enum                 []string // the texts that are valid
	MinLength, MaxLength int      // of a text, in characters
	Pattern              *regexp.Regexp
	PatternText          string      // the pattern in Python's syntax, empty if it is the same
	Format               *Format     // of a text, nil for none
	Min, Max             json.Number // the minimum and the maximum of a number
	Above                bool        // a number must be greater than Min
	MinItems             int
	Items                *Schema // of an array
	AnyOf                []*Schema
	Properties           []Property // in the order in which they are checked
	Required             []string
	Closed               bool        // other properties are not allowed
	ClosedFirst          bool        // other properties are reported rather than missing ones
	Needs                [][2]string // pairs of a property and a second one, which the first requires
	Draft4               bool        // 1.0 is not an integer
	Secret               bool        // violations do not repeat the value
	// Recent selects, of several violations and for the text of an empty value, what jsonschema 4.21 and later do, which
	// the Ironics since 2026.1 use. It counts in the schema whose method is called.
	Recent bool
	// First selects the first of several violations, and a fault without a name, as Ironic's schemas of ironic/api/schemas
	// do. Like Recent, it counts in the schema whose method is called.
	First       bool
	Description string // for the text of [Schema.Explain] alone
}

// Property is the schema of a property of an object.
type Property struct {
	Name string
	*Schema
}

// Format is a format of a text.
type Format struct {
	Name string // as in a schema, such as "uuid"
	Is   func(text string) bool
}

// violation is a part of a value that a schema refuses.
type violation struct {
	text  func() string // called for the reported violation only, since the part may be large
	depth int           // the number of segments in the path to the part
	weak  bool          // the part matches none of several schemas
	typed bool          // the part has a type that the schema allows
	// causes are the violations of the schemas of which the part matches none.
	causes []violation

	keyword string   // the violated keyword, such as "enum"
	schema  *Schema  // of the part
	value   any      // the part
	at, in  string   // the paths to the part and to its schema, as Python's indices
	path    []string // to the part: names, and numbers with leading zeros
}

// within returns violations of the schema of an item or a property as violations of the schema above.
func within(found []violation, at, in string, segments ...string) []violation {
	for i := range found {
		found[i].at, found[i].in = at+found[i].at, in+found[i].in
		found[i].path = slices.Concat(segments, found[i].path)
	}
	return found
}

// compare orders violations by their relevance.
func (v violation) compare(other violation, recent bool) int {
	if recent {
		if order := cmp.Or(cmp.Compare(other.depth, v.depth), slices.Compare(v.path, other.path)); order != 0 {
			return order
		}
	}
	number := func(v violation) int {
		n := -4 * v.depth
		if !v.weak {
			n += 2
		}
		if !v.typed {
			n++
		}
		return n
	}
	return cmp.Compare(number(v), number(other))
}

// deepest returns the violation among the causes of v that explains it best. If the causes are
// equally relevant, it returns v.
func (v violation) deepest(recent bool) violation {
	for len(v.causes) > 0 {
		sorted := slices.Clone(v.causes)
		slices.SortStableFunc(sorted, func(a, b violation) int { return a.compare(b, recent) })
		if len(sorted) > 1 && sorted[0].compare(sorted[1], recent) == 0 {
			return v
		}
		v = sorted[0]
	}
	return v
}

// bestMatch returns the violation that explains best why a value is refused, as best_match of jsonschema does.
func bestMatch(violations []violation, recent bool) violation {
	best := violations[0]
	for _, v := range violations[1:] {
		if v.compare(best, recent) > 0 {
			best = v
		}
	}
	return best.deepest(recent).worded(recent)
}

// worded returns the violation with the text of the version of jsonschema.
func (v violation) worded(recent bool) violation {
	if recent && (v.keyword == "minItems" && v.schema.MinItems == 1 || v.keyword == "minLength" && v.schema.MinLength == 1) {
		text := v.text
		v.text = func() string { return strings.TrimSuffix(text(), "is too short") + "should be non-empty" }
	}
	return v
}

// Refusal returns the text of the violation of the schema that explains best why a value is refused,
// and the text of its root cause, empty if there is no other. It returns false for a valid value.
func (s *Schema) Refusal(value any) (text, cause string, refused bool) {
	violations := s.check(value, 0)
	if len(violations) == 0 {
		return "", "", false
	}
	best := violations[0].worded(s.Recent)
	if !s.First {
		best = bestMatch(violations, s.Recent)
	}
	for current := best; len(current.causes) > 0; {
		current = bestMatch(current.causes, s.Recent)
		cause = current.text()
	}
	return best.text(), cause, true
}

// Validate returns the fault of a value that violates the schema. The fault contains the name.
//
// Source: _validate_schema in ironic/common/args.py, and validate in ironic/api/validation/validators.py.
func (s *Schema) Validate(name string, value any) error {
	text, cause, refused := s.Refusal(value)
	if cause != "" {
		text += ". Possible root cause: " + cause
	}
	switch {
	case !refused:
		return nil
	case s.First:
		return fault.Invalid("Schema error: %s", text)
	default:
		return fault.Schema(name, "%s", text)
	}
}

// list prints as a Python list.
type list []string

func (l list) String() string { return pyrepr.List(l) }

// check returns the violations of a value, in Ironic's order. The depth is the number of segments in the path to the
// value.
func (s *Schema) check(value any, depth int) (found []violation) {
	has := TypesOf(value)
	if number, is := value.(json.Number); is && s.Draft4 && strings.ContainsAny(number.String(), ".eE") {
		has = []string{"number"}
	}
	typed := slices.ContainsFunc(s.Types, func(t string) bool { return slices.Contains(has, t) })
	text := func(format string, args ...any) func() string {
		return func() string {
			shown := "The value"
			if !s.Secret || !HasText(value) {
				shown = fault.Repr(value)
			}
			return shown + fmt.Sprintf(format, args...)
		}
	}
	add := func(keyword, format string, args ...any) {
		found = append(found, violation{text: text(format, args...), depth: depth, typed: typed, keyword: keyword, schema: s, value: value})
	}
	if len(s.Types) > 0 && !typed {
		add("type", " is not of type '%s'", strings.Join(s.Types, "', '"))
	}
	switch value := value.(type) {
	case string:
		s.checkText(value, add)
	case json.Number:
		s.checkNumber(value, add)
	case []any:
		if len(value) < s.MinItems {
			add("minItems", " is too short")
		}
		if s.Items != nil {
			for i, item := range value {
				if below := s.Items.check(item, depth+1); below != nil {
					found = append(found, within(below, fmt.Sprintf("[%d]", i), "['items']", fmt.Sprintf("%09d", i))...)
				}
			}
		}
	}
	if word, isText := value.(string); len(s.Enum) > 0 && !(isText && slices.Contains(s.Enum, word)) {
		add("enum", " is not one of %v", list(s.Enum))
	}
	if v, ok := s.checkAny(value); !ok {
		v.text, v.depth, v.weak, v.typed = text(" is not valid under any of the given schemas"), depth, true, typed
		v.keyword, v.schema, v.value = "anyOf", s, value
		found = append(found, v)
	}
	if object, ok := value.(map[string]any); ok {
		found = append(found, s.checkProperties(object, depth, typed)...)
	}
	return found
}

// HasText reports whether a value may contain a secret: whether it is a text that is not empty, an object with members,
// or a list with one of these.
func HasText(value any) bool {
	switch value := value.(type) {
	case string:
		return value != ""
	case []any:
		return slices.ContainsFunc(value, HasText)
	case map[string]any:
		return len(value) > 0
	default:
		return false
	}
}

// checkNumber adds the violations of a number. add is check's function add.
func (s *Schema) checkNumber(value json.Number, add func(keyword, format string, args ...any)) {
	number, _ := value.Float64()
	if s.Min != "" {
		switch least, _ := s.Min.Float64(); {
		case s.Above && number <= least:
			add("exclusiveMinimum", " is less than or equal to the minimum of %s", s.Min)
		case !s.Above && number < least:
			add("minimum", " is less than the minimum of %s", s.Min)
		}
	}
	if s.Max != "" {
		if most, _ := s.Max.Float64(); number > most {
			add("maximum", " is greater than the maximum of %s", s.Max)
		}
	}
}

// checkText adds the violations of a text. add is check's function add.
func (s *Schema) checkText(text string, add func(keyword, format string, args ...any)) {
	switch length := utf8.RuneCountInString(text); {
	case length < s.MinLength:
		add("minLength", " is too short")
	case s.MaxLength > 0 && length > s.MaxLength:
		add("maxLength", " is too long")
	}
	if s.Pattern != nil && !s.Pattern.MatchString(text) {
		add("pattern", " does not match %s", pyrepr.Text(cmp.Or(s.PatternText, s.Pattern.String())))
	}
	if s.Format != nil && !s.Format.Is(text) {
		add("format", " is not a '%s'", s.Format.Name)
	}
}

// checkAny reports whether the value is valid under one of the alternatives, if there are any.
func (s *Schema) checkAny(value any) (v violation, ok bool) {
	for i, alternative := range s.AnyOf {
		causes := within(alternative.check(value, 0), "", fmt.Sprintf("[%d]", i))
		if len(causes) == 0 {
			return violation{}, true
		}
		v.causes = append(v.causes, causes...)
	}
	return v, len(s.AnyOf) == 0
}

// checkProperties returns the violations of the properties of an object. typed is the field typed of a violation of the
// object.
func (s *Schema) checkProperties(object map[string]any, depth int, typed bool) (found []violation) {
	known := map[string]bool{}
	for _, p := range s.Properties {
		known[p.Name] = true
		if value, ok := object[p.Name]; ok {
			index := "[" + pyrepr.Text(p.Name) + "]"
			found = append(found, within(p.check(value, depth+1), index, "['properties']"+index, p.Name)...)
		}
	}
	var absent, unexpected []violation
	add := func(to *[]violation, keyword, format string, args ...any) {
		*to = append(*to, violation{
			text: func() string { return fmt.Sprintf(format, args...) }, depth: depth, typed: typed, keyword: keyword, schema: s, value: object,
		})
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			add(&absent, "required", "'%s' is a required property", name)
		}
	}
	if s.Closed {
		var names []string
		for name := range object {
			if !known[name] {
				names = append(names, pyrepr.Text(fault.Show(name)))
			}
		}
		slices.Sort(names)
		names = names[:min(len(names), maxUnexpected)]
		switch len(names) {
		case 0:
		case 1:
			add(&unexpected, "additionalProperties", "Additional properties are not allowed (%s was unexpected)", names[0])
		default:
			add(&unexpected, "additionalProperties", "Additional properties are not allowed (%s were unexpected)", strings.Join(names, ", "))
		}
	}
	if s.ClosedFirst {
		absent, unexpected = unexpected, absent
	}
	found = append(append(found, absent...), unexpected...)
	for _, pair := range s.Needs {
		_, has := object[pair[0]]
		if _, other := object[pair[1]]; has && !other {
			add(&found, "dependentRequired", "'%s' is a dependency of '%s'", pair[1], pair[0])
		}
	}
	return found
}

// maxUnexpected bounds the number of unknown keys that a fault lists.
const maxUnexpected = 20
