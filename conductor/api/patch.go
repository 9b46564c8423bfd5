package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

// patchOp is one operation of a JSON patch.
type patchOp struct {
	op    string
	path  string
	field string // the first segment of the path
	value any
	has   bool // the operation has a value
}

// patch is a JSON patch with the operations that Ironic supports: add, replace and remove.
//
// Source: ironic/common/args.py, ironic/api/controllers/v1/utils.py.
type patch []patchOp

// patchSchema is the schema of a patch with a pattern for paths.
func patchSchema(path *regexp.Regexp, text string) *schema {
	return &schema{types: []string{"array"}, items: &schema{
		types: []string{"object"}, required: []string{"op", "path"}, closed: true, closedFirst: true,
		properties: []property{
			{"path", &schema{types: textType, pattern: path, patternText: text}},
			{"op", &schema{types: textType, enum: []string{"add", "replace", "remove"}}},
			{"value", &schema{}},
		},
	}}
}

var (
	plainPatch   = patchSchema(regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`), `^(/[\w-]+)+$`)
	escapedPatch = patchSchema(regexp.MustCompile(`^(/([\p{L}\p{N}_-]|~0|~1)+)+$`), `^(/([\w-]|~0|~1)+)+$`)
)

// errNullPatch refuses null in place of a patch. Ironic takes it for a patch, and fails when it
// reads its operations.
var errNullPatch = schemaError("patch", "None is not of type 'array'")

// decodePatch returns the patch in the body.
func (r *request) decodePatch() (patch, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, errNullPatch
	}
	valid := plainPatch
	if r.version >= since.PatchEscapes {
		valid = escapedPatch
	}
	if err := valid.validate("patch", body); err != nil {
		return nil, err
	}
	var p patch
	for _, item := range body.([]any) {
		object := item.(map[string]any)
		op := patchOp{op: object["op"].(string), path: object["path"].(string)}
		op.value, op.has = object["value"]
		op.field, _, _ = strings.Cut(op.path[1:], "/")
		p = append(p, op)
	}
	return p, nil
}

// refused returns the fault of an operation, without the secrets that responses hide.
func (op patchOp) refused(reason string) error {
	var b strings.Builder
	b.WriteString("{'op': " + repr(op.op) + ", 'path': " + repr(op.path))
	if op.has {
		value := masked.Object(map[string]any{op.path: op.value})[op.path]
		if op.path == "/instance_info/image_url" && value != nil {
			value = masked.Secret
		}
		b.WriteString(", 'value': " + repr(value))
	}
	return invalid("Couldn't apply patch '%s}'. Reason: %s", b.String(), reason)
}

// only refuses operations on fields other than those given.
func (p patch) only(fields []string) error {
	for _, op := range p {
		if !slices.Contains(fields, op.field) {
			return invalid("Cannot patch %s. Only the following can be updated: %s", show(op.path), strings.Join(fields, ", "))
		}
	}
	return nil
}

// fields returns the fields that the patch changes, sorted.
func (p patch) fields() []string {
	seen := map[string]bool{}
	for _, op := range p {
		seen[op.field] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// values returns the values that the patch assigns to a field as a whole.
func (p patch) values(field string) (values []any) {
	for _, op := range p {
		if op.path == "/"+field && op.op != "remove" {
			values = append(values, op.value)
		}
	}
	return values
}

// replaces reports whether the patch sets a field as a whole or removes some of it.
func (p patch) replaces(field string) bool {
	return slices.ContainsFunc(p, func(op patchOp) bool {
		return op.path == "/"+field || op.op == "remove" && strings.HasPrefix(op.path, "/"+field+"/")
	})
}

// startsWith reports whether the first operation changes a field. Ironic's is_path_updated looks no
// further.
func (p patch) startsWith(field string) bool { return len(p) > 0 && p[0].field == field }

// apply returns the patched document, without the removed fields.
func (p patch) apply(document map[string]any) (map[string]any, error) {
	for _, op := range p {
		_, known := document[op.field]
		if op.op == "add" && op.path == "/"+op.field && !known {
			return nil, invalid("Adding a new attribute (%s) to the root of the resource is not allowed", op.path)
		}
	}
	text, err := json.Marshal(document) // a deep copy, in the types of decoded JSON
	if err != nil {
		return nil, err
	}
	var patched any
	if err := unmarshal(text, &patched); err != nil {
		return nil, err
	}
	for _, op := range p {
		reason := "The operation does not contain a 'value' member"
		if op.op == "remove" || op.has {
			patched, reason = op.apply(patched, strings.Split(op.path[1:], "/"))
		}
		if reason != "" {
			return nil, op.refused(reason)
		}
	}
	return patched.(map[string]any), nil
}

var unescapeSegment = strings.NewReplacer("~1", "/", "~0", "~")

// apply applies an operation to the part of a document at the path segments and returns the changed
// part, or the reason why it cannot be applied.
//
// Source: the Python packages jsonpatch and jsonpointer.
func (op patchOp) apply(document any, segments []string) (changed any, reason string) {
	name := unescapeSegment.Replace(segments[0])
	switch document := document.(type) {
	case map[string]any:
		return op.applyToObject(document, name, segments[1:])
	case []any:
		return op.applyToList(document, name, segments[1:])
	case string:
		return nil, pyrepr.Text(name) + " is not a valid sequence index"
	default:
		class := map[string]string{"null": "NoneType", "boolean": "bool", "integer": "int", "number": "float"}[jsonTypes(document)[0]]
		return nil, "Document '<class '" + class + "'>' does not support indexing, must be mapping/sequence or support __getitem__"
	}
}

func (op patchOp) applyToObject(object map[string]any, name string, below []string) (changed any, reason string) {
	child, has := object[name]
	switch {
	case len(below) > 0 && !has:
		return nil, "member '" + name + "' not found in " + repr(object)
	case len(below) > 0:
		if child, reason = op.apply(child, below); reason == "" {
			object[name] = child
		}
		return object, reason
	case op.op == "add", op.op == "replace" && has:
		object[name] = op.value
	case has:
		delete(object, name)
	default:
		return nil, "can't " + op.op + " a non-existent object '" + name + "'"
	}
	return object, ""
}

func (op patchOp) applyToList(list []any, name string, below []string) (changed any, reason string) {
	index, err := strconv.Atoi(name)
	last := len(below) == 0
	switch {
	case name == "-" && last && op.op == "add":
		return append(list, op.value), ""
	case name == "-" && last && op.op == "replace":
		return nil, "'path' with '-' can't be applied to 'replace' operation"
	case err != nil || strconv.Itoa(index) != name || index < 0:
		return nil, "'" + name + "' is not a valid sequence index"
	case !last && index >= len(list):
		return nil, "index '" + name + "' is out of bounds"
	case !last:
		if changed, reason = op.apply(list[index], below); reason == "" {
			list[index] = changed
		}
		return list, reason
	case op.op == "add" && index > len(list):
		return nil, "can't insert outside of list"
	case op.op == "add":
		return slices.Insert(list, index, op.value), ""
	case op.op == "replace" && index >= len(list):
		return nil, "can't replace outside of list"
	case op.op == "replace":
		list[index] = op.value
		return list, ""
	case index >= len(list):
		return nil, "can't remove a non-existent object '" + name + "'"
	default:
		return slices.Delete(list, index, index+1), ""
	}
}
