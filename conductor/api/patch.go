package api

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/ironstate/ironstate/internal/masked"
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

// minEscapes is the first version in which the path of a patch may contain ~0 and ~1.
const minEscapes = 98

var (
	plainPatch   = patchSchema(regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`), `^(/[\w-]+)+$`)
	escapedPatch = patchSchema(regexp.MustCompile(`^(/([\p{L}\p{N}_-]|~0|~1)+)+$`), `^(/([\w-]|~0|~1)+)+$`)
)

// decodePatch returns the patch in the body.
func (r *request) decodePatch() (patch, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return nil, err
	}
	valid := plainPatch
	if r.version >= minEscapes {
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

// refused returns the fault of an operation, without secrets.
func (op patchOp) refused(reason string) error {
	value := ""
	if op.has {
		value = ", 'value': " + repr(masked.Object(map[string]any{op.path: op.value})[op.path])
	}
	return invalid("Couldn't apply patch '{'op': '%s', 'path': '%s'%s}'. Reason: %s", op.op, show(op.path), value, reason)
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
	for _, op := range p {
		if op.op != "remove" && !op.has {
			return nil, op.refused("The operation does not contain a 'value' member")
		}
	}
	doc, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	operations, err := p.encode()
	if err != nil {
		return nil, err
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = false
	after, err := operations.ApplyWithOptions(doc, options)
	if err != nil {
		failed := sort.Search(len(p)-1, func(i int) bool {
			_, err := operations[:i+1].ApplyWithOptions(doc, options)
			return err != nil
		})
		return nil, p[failed].refused(reason(err, p[failed]))
	}
	var patched map[string]any
	if err := unmarshal(after, &patched); err != nil {
		return nil, err
	}
	return patched, nil
}

func (p patch) encode() (jsonpatch.Patch, error) {
	list := make([]map[string]any, len(p))
	for i, op := range p {
		list[i] = map[string]any{"op": op.op, "path": op.path}
		if op.op != "remove" {
			list[i]["value"] = op.value
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return jsonpatch.DecodePatch(b)
}

// reason returns why an operation cannot be applied.
func reason(err error, op patchOp) string {
	last := op.path[strings.LastIndexByte(op.path, '/')+1:]
	switch {
	case !errors.Is(err, jsonpatch.ErrMissing):
		return "'" + show(last) + "' is not a valid sequence index"
	case op.op == "add":
		return "a member of the path was not found"
	default:
		return "can't " + op.op + " a non-existent object '" + show(last) + "'"
	}
}
