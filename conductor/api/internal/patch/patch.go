// SPDX-License-Identifier: Apache-2.0

// Package patch reads JSON patches and applies them to documents.
package patch

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/internal/exactjson"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Operation is one operation of a JSON patch.
type Operation struct {
	Op    string
	Path  string
	Field string // the first segment of the path
	value any
	has   bool // the operation has a value
}

// Patch is a JSON patch with the operations that Ironic supports: add, replace and remove.
//
// Source: ironic/common/args.py, ironic/api/controllers/v1/utils.py.
type Patch []Operation

// patchSchema is the schema of a patch. Ironic documents the escapes ~0 and ~1 in a path since 1.98, but the schema
// refuses them up to 39.0.0. allocationSchema is the schema of a patch of an allocation since 2026.1, which permits any
// path; ironstate requires its slash.
var (
	patchSchema = &schema.Schema{Types: []string{"array"}, Items: &schema.Schema{
		Types: []string{"object"}, Required: []string{"op", "path"}, Closed: true, ClosedFirst: true,
		Properties: []schema.Property{
			{Name: "path", Schema: &schema.Schema{
				Types: schema.TextType, Pattern: regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`), PatternText: `^(/[\w-]+)+$`,
			}},
			{Name: "op", Schema: operations},
			{Name: "value", Schema: &schema.Schema{}},
		},
	}}
	allocationSchema = &schema.Schema{Types: []string{"array"}, First: true, Items: &schema.Schema{
		Types: []string{"object"}, Required: []string{"op", "path"}, Closed: true,
		Properties: []schema.Property{
			{Name: "op", Schema: &schema.Schema{Enum: operations.Enum}},
			{Name: "path", Schema: &schema.Schema{Types: schema.TextType, Pattern: regexp.MustCompile(`^/`)}},
			{Name: "value", Schema: &schema.Schema{Types: []string{"string", "object", "null", "integer", "boolean"}}},
		},
	}}
	operations = &schema.Schema{Types: schema.TextType, Enum: []string{"add", "replace", "remove"}}
)

// ErrNull refuses null in place of a patch. Ironic takes it for a patch, and fails when it
// reads its operations.
var ErrNull = fault.Schema("patch", "None is not of type 'array'")

// The limits of a patch. An insert into a list or a removal from it moves the elements behind its place, so that the
// time of many of them grows with the square of their number. Ironic has no such limits.
const (
	maxOperations = 1000
	maxMoved      = 4 << 20 // elements of lists that all operations of a patch move, of 16 bytes each
)

// Decode returns the patch in the body.
func Decode(r *rest.Request) (Patch, error) {
	valid := *patchSchema
	valid.Recent = r.Series >= states.Gazpacho
	return decode(r, &valid)
}

// DecodeOfAllocation is Decode by the schema that allocations have since 2026.1.
func DecodeOfAllocation(r *rest.Request) (Patch, error) { return decode(r, allocationSchema) }

func decode(r *rest.Request, valid *schema.Schema) (Patch, error) {
	body, err := r.Decode(rest.MaxBody)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, ErrNull
	}
	if list, _ := body.([]any); len(list) > maxOperations {
		return nil, fault.Invalid("A patch has at most %d operations, this one has %d.", maxOperations, len(list))
	}
	if err := valid.Validate("patch", body); err != nil {
		return nil, err
	}
	var p Patch
	for _, item := range body.([]any) {
		object := item.(map[string]any)
		op := Operation{Op: object["op"].(string), Path: object["path"].(string)}
		op.value, op.has = object["value"]
		op.Field, _, _ = strings.Cut(op.Path[1:], "/")
		p = append(p, op)
	}
	return p, nil
}

// repr returns an operation as Python shows it, without the secrets that responses hide.
func (op Operation) repr() string {
	text := "{'op': " + fault.Repr(op.Op) + ", 'path': " + fault.Repr(op.Path)
	if op.has {
		value := masked.Object(map[string]any{op.Path: op.value})[op.Path]
		if op.Path == "/instance_info/image_url" && value != nil {
			value = masked.Secret
		}
		text += ", 'value': " + fault.Repr(value)
	}
	return text + "}"
}

// Refused returns the fault of a patch that breaks a rule of its resource.
func (p Patch) Refused(reason string) error {
	all := make([]string, len(p))
	for i, op := range p {
		all[i] = op.repr()
	}
	return refused("["+strings.Join(all, ", ")+"]", reason)
}

func refused(what, reason string) error {
	return fault.Invalid("Couldn't apply patch '%s'. Reason: %s", what, reason)
}

// Only refuses operations on fields other than those given.
func (p Patch) Only(fields []string) error {
	for _, op := range p {
		if !slices.Contains(fields, op.Field) {
			return fault.Invalid("Cannot patch %s. Only the following can be updated: %s", fault.Show(op.Path), strings.Join(fields, ", "))
		}
	}
	return nil
}

// Fields returns the fields that the patch changes, sorted.
func (p Patch) Fields() []string {
	seen := map[string]bool{}
	for _, op := range p {
		seen[op.Field] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Values returns the values that the patch assigns to a field as a whole.
func (p Patch) Values(field string) (values []any) {
	for _, op := range p {
		if op.Path == "/"+field && op.Op != "remove" {
			values = append(values, op.value)
		}
	}
	return values
}

// Replaces reports whether the patch sets a field as a whole or removes some of it.
func (p Patch) Replaces(field string) bool {
	return slices.ContainsFunc(p, func(op Operation) bool {
		return op.Path == "/"+field || op.Op == "remove" && strings.HasPrefix(op.Path, "/"+field+"/")
	})
}

// StartsWith reports whether the first operation changes a field. Ironic's is_path_updated looks no
// further.
func (p Patch) StartsWith(field string) bool { return len(p) > 0 && p[0].Field == field }

// Apply returns the patched document, without the removed fields. It modifies neither the document nor the patch, which
// is applied again after a conflict. shown returns the form in which responses show a value of a field, nil for a field
// that they may hide: a fault repeats no other part of the document.
func (p Patch) Apply(document map[string]any, shown func(field string, value any) any) (map[string]any, error) {
	for _, op := range p {
		_, known := document[op.Field]
		if op.Op == "add" && op.Path == "/"+op.Field && !known {
			return nil, fault.Invalid("Adding a new attribute (%s) to the root of the resource is not allowed", op.Path)
		}
	}
	patched, err := clone(document)
	if err != nil {
		return nil, err
	}
	a := applier{}
	for _, op := range p {
		if op.value, err = clone(op.value); err != nil {
			return nil, err
		}
		reason := "The operation does not contain a 'value' member"
		segments := strings.Split(op.Path[1:], "/")
		before := patched.(map[string]any)
		if op.Op == "remove" || op.has {
			patched, reason = a.apply(op, patched, segments)
		}
		if value, has := before[op.Field]; has && a.missed {
			reason += within(shown(op.Field, value), segments[1:])
		}
		if reason != "" {
			return nil, refused(op.repr(), reason)
		}
	}
	return patched.(map[string]any), nil
}

// clone returns a deep copy of a value in the types of decoded JSON.
func clone(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case nil, bool, string, json.Number:
		return v, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, item := range v {
			if object[name], err = clone(item); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = clone(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var decoded any
	err = exactjson.Unmarshal(text, &decoded)
	return decoded, err
}

// within returns the part of a reason that repeats the object without a member at the path segments below a value, ""
// if the value has no such object.
func within(value any, segments []string) string {
	for _, segment := range segments {
		name := unescapeSegment.Replace(segment)
		switch part := value.(type) {
		case map[string]any:
			member, has := part[name]
			if !has {
				return " in " + fault.Repr(part)
			}
			value = member
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index < 0 || index >= len(part) {
				return ""
			}
			value = part[index]
		}
	}
	return ""
}

// applier applies the operations of a patch and counts the elements of lists that they move.
type applier struct {
	moved  int
	missed bool // whether an object lacks a member on the path of an operation
}

// move counts the elements of a list that an operation moves: those behind its index, or all of them if the list has to
// be copied to grow. It returns false if the patch has moved too many elements.
func (a *applier) move(list []any, index, more int) bool {
	if len(list)+more > cap(list) {
		index = 0
	}
	a.moved += len(list) - index
	return a.moved <= maxMoved
}

// tooMuchMoved is the reason of a fault for more moved elements than maxMoved.
const tooMuchMoved = "the operations of this patch insert into long lists, or remove from them, too often"

var unescapeSegment = strings.NewReplacer("~1", "/", "~0", "~")

// apply applies an operation to the part of a document at the path segments and returns the changed
// part, or the reason why it cannot be applied.
//
// Source: the Python packages jsonpatch and jsonpointer.
func (a *applier) apply(op Operation, document any, segments []string) (changed any, reason string) {
	name := unescapeSegment.Replace(segments[0])
	switch document := document.(type) {
	case map[string]any:
		return a.applyToObject(op, document, name, segments[1:])
	case []any:
		return a.applyToList(op, document, name, segments[1:])
	case string:
		return nil, pyrepr.Text(name) + " is not a valid sequence index"
	default:
		class := map[string]string{"null": "NoneType", "boolean": "bool", "integer": "int", "number": "float"}[schema.TypesOf(document)[0]]
		return nil, "Document '<class '" + class + "'>' does not support indexing, must be mapping/sequence or support __getitem__"
	}
}

// applyToObject applies an operation to the member of an object with a name, or to the part of the member at the
// segments below it.
func (a *applier) applyToObject(op Operation, object map[string]any, name string, below []string) (changed any, reason string) {
	child, has := object[name]
	switch {
	case len(below) > 0 && !has:
		a.missed = true
		return nil, "member '" + name + "' not found"
	case len(below) > 0:
		if child, reason = a.apply(op, child, below); reason == "" {
			object[name] = child
		}
		return object, reason
	case op.Op == "add", op.Op == "replace" && has:
		object[name] = op.value
	case has:
		delete(object, name)
	default:
		return nil, "can't " + op.Op + " a non-existent object '" + name + "'"
	}
	return object, ""
}

// applyToList applies an operation to the element of a list whose index is the name, or to the part of the element at
// the segments below it. The name "-" is the end of the list.
func (a *applier) applyToList(op Operation, list []any, name string, below []string) (changed any, reason string) {
	index, err := strconv.Atoi(name)
	last := len(below) == 0
	switch {
	case name == "-" && last && op.Op == "add":
		if !a.move(list, len(list), 1) {
			return nil, tooMuchMoved
		}
		return append(list, op.value), ""
	case name == "-" && last && op.Op == "replace":
		return nil, "'path' with '-' can't be applied to 'replace' operation"
	case err != nil || strings.Trim(name, "0123456789") != "": // zeros may lead
		return nil, "'" + name + "' is not a valid sequence index"
	case !last && index >= len(list):
		return nil, "index '" + name + "' is out of bounds"
	case !last:
		if changed, reason = a.apply(op, list[index], below); reason == "" {
			list[index] = changed
		}
		return list, reason
	case op.Op == "add" && index > len(list):
		return nil, "can't insert outside of list"
	case op.Op == "add" && !a.move(list, index, 1):
		return nil, tooMuchMoved
	case op.Op == "add":
		return slices.Insert(list, index, op.value), ""
	case op.Op == "replace" && index >= len(list):
		return nil, "can't replace outside of list"
	case op.Op == "replace":
		list[index] = op.value
		return list, ""
	case index >= len(list):
		return nil, "can't remove a non-existent object '" + name + "'"
	case !a.move(list, index, 0):
		return nil, tooMuchMoved
	default:
		return slices.Delete(list, index, index+1), ""
	}
}
