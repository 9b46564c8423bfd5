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

	"github.com/ironstate/ironstate/states"
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

var patchPath = regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`)

// minEscapes is the first version in which the path of a patch may contain ~0 and ~1.
const minEscapes = 98

var escapedPatchPath = regexp.MustCompile(`^(/([\p{L}\p{N}_-]|~0|~1)+)+$`)

// decodePatch returns the patch in the body.
func (r *request) decodePatch() (patch, error) {
	body, err := r.decode(maxBody)
	if err != nil {
		return nil, err
	}
	list, ok := body.([]any)
	if !ok {
		return nil, schemaError("patch", "%s is not of type 'array'", repr(body))
	}
	p := make(patch, len(list))
	for i, item := range list {
		if p[i], err = decodeOp(item, r.version); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func decodeOp(item any, version states.APIVersion) (op patchOp, err error) {
	object, err := checkObject("patch", item, oneOf("op", "path", "value"), "op", "path")
	if err != nil {
		return op, err
	}
	for _, key := range []string{"op", "path"} {
		if err := checkType("patch", object[key], []string{"string"}, 0, false); err != nil {
			return op, err
		}
	}
	op.op, op.path = object["op"].(string), object["path"].(string)
	op.value, op.has = object["value"]
	pattern := patchPath
	if version >= minEscapes {
		pattern = escapedPatchPath
	}
	switch op.op {
	case "add", "replace", "remove":
	default:
		return op, schemaError("patch", "%s is not one of ['add', 'replace', 'remove']", repr(op.op))
	}
	if !pattern.MatchString(op.path) {
		return op, schemaError("patch", `%s does not match '^(/[\\w-]+)+$'`, repr(op.path))
	}
	op.field, _, _ = strings.Cut(op.path[1:], "/")
	if op.op != "remove" && !op.has {
		return op, op.refused("The operation does not contain a 'value' member")
	}
	return op, nil
}

// refused returns the fault of an operation. It does not repeat the value, which may
// be a secret.
func (op patchOp) refused(reason string) error {
	return invalid("Couldn't apply patch '{'op': '%s', 'path': '%s'}'. Reason: %s", op.op, show(op.path), reason)
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

// apply returns the patched document, without the removed fields.
func (p patch) apply(document map[string]any) (map[string]any, error) {
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
