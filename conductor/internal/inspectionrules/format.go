// SPDX-License-Identifier: Apache-2.0

package inspectionrules

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

const (
	// maxText bounds the bytes that the replacement fields and the loops of one inspection make. Without it, a rule that
	// doubles a text several times would fill the memory.
	maxText = 4 << 20
	// elementSize and memberSize are the bytes of an element of a list and of a member of an object, besides their
	// texts.
	elementSize, memberSize = 16, 64
	// maxFields bounds the replacement fields of one inspection.
	maxFields = 10_000
	// maxDepth bounds how deep a field may be in the format specifications of others, as Python does.
	maxDepth = 2
)

// charge counts bytes that an inspection makes, and refuses too many.
func (a *application) charge(bytes int) error {
	if a.left -= bytes; a.left < 0 {
		return fail("Inspection rule execution failed. Reason: the replacement fields make more than %d bytes", maxText)
	}
	return nil
}

// copied charges bytes of an argument in a loop, of which each item has a copy.
func (f formatter) copied(bytes int) error {
	if f.item == nil {
		return nil
	}
	return f.charge(bytes)
}

// errNoKey is the error of a replacement field that names a missing key, and errNoField of any other that has no value.
var errNoKey, errNoField = errors.New("no such key"), errors.New("no such value")

// formatter replaces the replacement fields in arguments, such as {inventory[cpu][count]}. Fields that have no value,
// and texts with unmatched braces, stay as they are.
type formatter struct {
	*application
	item      *any // the item of a loop; nil for none
	nullEmpty bool // a text with a missing key becomes null
}

// value returns a value with its replacement fields replaced. In a loop, texts that are not in a list are formatted
// twice, so that fields in the loop's items are replaced, too.
//
// Source: interpolate_variables in ironic/common/inspection_rules/base.py.
func (f formatter) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		if f.item == nil {
			return f.text(v)
		}
		made, err := f.twice(v)
		return made, cmp.Or(err, f.copied(len(str(made))))
	case map[string]any:
		if err := f.copied(memberSize * len(v)); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(v))
		for key, item := range v {
			name, err := f.text(key)
			if err := cmp.Or(err, f.copied(len(str(name)))); err != nil {
				return nil, err
			}
			if object[str(name)], err = f.value(item); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		if err := f.copied(elementSize * len(v)); err != nil {
			return nil, err
		}
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if text, is := item.(string); is {
				list[i], err = f.text(text)
				err = cmp.Or(err, f.copied(len(str(list[i]))))
			} else {
				list[i], err = f.value(item)
			}
			if err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return v, nil
	}
}

// text returns a text with its fields replaced, or the text itself if that cannot be done.
func (f formatter) text(text string) (any, error) {
	replaced, err := f.expand(text, false, 0)
	switch {
	case errors.Is(err, errNoKey) && f.nullEmpty:
		return nil, nil
	case errors.Is(err, errNoKey), errors.Is(err, errNoField):
		f.log("warning", "Interpolation failed: %s: %v", text, err)
		return text, f.charge(len(text))
	default:
		return replaced, err
	}
}

// twice returns a text with its fields replaced, and then the fields that come from the item of the loop. Braces in the
// data of the machine and of the node stay braces: Ironic would replace what they enclose, so that a machine could read
// the node.
func (f formatter) twice(text string) (any, error) {
	first, err := f.text(text)
	if err != nil {
		return nil, err
	}
	escaped, err := f.expand(text, true, 0)
	if err != nil { // the first time, too
		escaped = text
	}
	second, err := f.expand(escaped, false, 0)
	switch {
	case errors.Is(err, errNoKey) && f.nullEmpty:
		return nil, nil
	case errors.Is(err, errNoKey), errors.Is(err, errNoField):
		return first, nil
	default:
		return second, err
	}
}

// expand replaces the fields in a text, which is as deep in format specifications as depth says. If escape is set,
// braces in values that do not come from the loop's item are doubled.
//
// Source: the documentation of str.format.
func (f formatter) expand(text string, escape bool, depth int) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:at])
		brace, rest := text[at:at+1], text[at+1:]
		if strings.HasPrefix(rest, brace) {
			b.WriteString(brace)
			text = rest[1:]
			continue
		}
		if brace == "}" {
			return "", errNoField
		}
		if depth == maxDepth {
			return "", errNoField
		}
		field, conversion, spec, rest, ok := splitField(rest)
		if !ok {
			return "", errNoField
		}
		if f.fields++; f.fields > maxFields {
			return "", fail("Inspection rule execution failed. Reason: there are more than %d replacement fields", maxFields)
		}
		spec, err := f.expand(spec, false, depth+1)
		if err != nil {
			return "", err
		}
		value, own, err := f.lookUp(field)
		if err != nil {
			return "", err
		}
		shown, err := show(value, conversion, spec)
		if err != nil {
			return "", err
		}
		if err := f.charge(len(shown)); err != nil {
			return "", err
		}
		if escape && !own {
			shown = strings.NewReplacer("{", "{{", "}", "}}").Replace(shown)
		}
		b.WriteString(shown)
		text = rest
	}
}

// splitField splits a text behind an opening brace into the name of the field, its conversion, its format specification
// and the text behind the closing brace.
func splitField(text string) (field, conversion, spec, rest string, ok bool) {
	end := 0
	for end < len(text) && !strings.ContainsRune("{}:!", rune(text[end])) {
		if text[end] == '[' {
			end += max(strings.IndexByte(text[end:], ']'), 0)
		}
		end++
	}
	field, rest = text[:end], text[end:]
	if strings.HasPrefix(rest, "!") && len(rest) > 1 {
		conversion, rest = rest[1:2], rest[2:]
	}
	if strings.HasPrefix(rest, ":") {
		depth := 1
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '{':
				depth++
			case '}':
				depth--
			}
			if depth == 0 {
				return field, conversion, rest[1:i], rest[i+1:], true
			}
		}
		return "", "", "", "", false
	}
	rest, ok = strings.CutPrefix(rest, "}")
	return field, conversion, "", rest, ok
}

// lookUp returns the value of a field. own is set if it is from the item of the loop, and thus from the rule.
func (f formatter) lookUp(field string) (value any, own bool, err error) {
	end := strings.IndexAny(field, ".[")
	if end < 0 {
		end = len(field)
	}
	name, path := field[:end], field[end:]
	switch {
	case name == "node":
		value, err = f.lookUpNode(path)
		return value, false, err
	case name == "inventory":
		if f.shown == nil {
			f.shown = visible("", f.inventory)
		}
		value = f.shown
	case name == "plugin_data":
		value = visible("", f.changes.PluginData)
	case name == "item" && f.item != nil:
		value, own = *f.item, true
	case name == "" || strings.Trim(name, "0123456789") == "": // a positional argument
		return nil, false, errNoField
	default:
		return nil, false, errNoKey
	}
	value, err = descend(value, path)
	return value, own, err
}

// lookUpNode returns the value at a path below the node. It refuses the node as a whole, secrets, and attributes that
// only Ironic has.
func (f formatter) lookUpNode(path string) (any, error) {
	key, _, rest, ok := next(path) // node.name is node[name]
	switch value, has := f.node[key]; {
	case path == "":
		return nil, fail("Inspection rule execution failed. Reason: a rule cannot show the node as a whole")
	case !ok:
		return nil, errNoField
	case !has && attributesOfNodes[key] == unsupported:
		return nil, fail("Inspection rule execution failed. Reason: a rule cannot read the attribute %s of the node", key)
	case !has:
		return nil, errNoField
	default:
		value, err := descend(masked.Value(value), rest)
		if value == masked.Secret {
			return nil, fail("Inspection rule execution failed. Reason: node%s is a secret, which a rule cannot read", path)
		}
		return value, err
	}
}

// next splits a path behind its first attribute or key. ok is false if it has neither.
func next(path string) (key string, attribute bool, rest string, ok bool) {
	if name, is := strings.CutPrefix(path, "."); is {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return name[:end], true, name[end:], true
	}
	inner, is := strings.CutPrefix(path, "[")
	key, rest, closed := strings.Cut(inner, "]")
	return key, false, rest, is && closed && key != ""
}

// descend returns the value at a path of keys below a value.
func descend(value any, path string) (any, error) {
	for path != "" {
		key, attribute, rest, ok := next(path)
		if !ok || attribute {
			return nil, errNoField
		}
		index, err := strconv.Atoi(key)
		isIndex := err == nil && strings.Trim(key, "0123456789") == ""
		switch v := value.(type) {
		case map[string]any:
			item, has := v[key]
			if !has || isIndex {
				return nil, errNoKey
			}
			value = item
		case []any:
			if !isIndex || index >= len(v) {
				return nil, errNoField
			}
			value = v[index]
		case string:
			runes := []rune(v)
			if !isIndex || index >= len(runes) {
				return nil, errNoField
			}
			value = string(runes[index])
		default:
			return nil, errNoField
		}
		path = rest
	}
	return value, nil
}

// show returns the value of a field as its conversion and its format specification say.
func show(value any, conversion, spec string) (string, error) {
	switch conversion {
	case "":
	case "s":
		value = str(value)
	case "r", "a":
		value = pyrepr.Of(value)
	default:
		return "", errNoField
	}
	if spec == "" {
		return str(value), nil
	}
	switch v := value.(type) {
	case string:
		return formatText(v, spec)
	case bool, json.Number:
		n, _ := number(v)
		return formatNumber(n, spec)
	default:
		return "", errNoField
	}
}
