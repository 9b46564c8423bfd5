// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/patch"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/internal/inspectionrules"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// InspectionRules returns the controller of /v1/inspection_rules.
//
// Source: ironic/api/controllers/v1/inspection_rule.py. The operator's file of built-in rules is not supported: a
// client creates each rule.
func InspectionRules(s *rest.Service) *rest.Controller {
	c := inspectionRuleResource.controller(s)
	if s.Series < states.Flamingo {
		c.Admit = rest.RefuseBefore(since.InspectionRules, "inspection rules", true)
		return c
	}
	for name, a := range c.Actions {
		a.Subject, a.VersionFirst = "inspection rules", states.Flamingo
		c.Actions[name] = a
	}
	return c
}

var inspectionRuleResource = complete(resource{
	of: &conductor.InspectionRule{}, path: "inspection_rules", word: "inspection_rule", noun: "Rule", since: since.InspectionRules,
	linked: "inspection",
	schemas: schemaRules{
		since:      states.Gazpacho,
		queryLast:  states.Gazpacho,
		queryTypes: true,
		anyFields:  true,
		oneFault: func(_ *resource, r *rest.Request) bool {
			return r.Method == http.MethodPost && r.Series >= states.Gazpacho
		},
	},
	fields: []field{
		{name: "uuid", types: schema.TextOrNull},
		{name: "description", types: schema.TextOrNull, max: 255},
		{name: "priority", zero: json.Number("0"), schema: func(*rest.Request) *schema.Schema {
			return &schema.Schema{Types: []string{"integer"}, Min: "0"}
		}, convert: toInteger},
		{name: "sensitive", types: []string{"boolean", "null"}, zero: false},
		{name: "phase", types: schema.TextOrNull, flags: nullable, max: 16, zero: mainPhase},
		{name: "scope", flags: readOnly | hidden, get: func(record) any { return nil }}, // a column that nobody can set
		{name: "conditions", zero: []any{}, schema: conditionsSchema, shown: shownConditions},
		{name: "actions", flags: required, zero: []any{}, schema: actionsSchema, shown: shownActions},
	},
	list: listRules{
		defaults: []string{"uuid", "priority", "phase", "description"}, detailSince: since.Detail, marker: nameKind,
		filters: []filter{ignoredPhase},
	},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, fieldsChosen, pageValid, sortKeyHasOrder, markerExists, recordsOnPage, listFieldsExist,
		},
		get:    checks{fieldsDecode, queryInSchema, uuidInSchema, identValid, recordExists, fieldsAllowed, fieldsExist},
		post:   checks{bodyDecodes, bodyValid, ruleUUIDValid, ruleValid, fieldsSet},
		patch:  checks{queryDecodes, identValid, patchDecodes, recordExists, patchNotNull},
		update: checks{rulePatchApplies, documentValid, ruleUUIDValid, ruleValid, ruleStaysItself, fieldsSet},
		delete: checks{noArguments, uuidInSchema, identValid, recordExists},
	},
})

// mainPhase is the only phase of rules: the end of an agent's inspection.
const mainPhase = "main"

// ignoredPhase is a parameter that Ironic accepts and ignores.
var ignoredPhase = filter{name: "phase", kind: kind{unknownKind.decode, schema.Text}, apply: ignore}

// conditionsSchema is the schema of the conditions of a rule.
//
// Source: ironic/api/schemas/v1/inspection_rule.py.
func conditionsSchema(*rest.Request) *schema.Schema {
	operation := operationSchema(inspectionrules.Operators())
	operation.Properties = append(operation.Properties, schema.Property{
		Name: "multiple", Schema: &schema.Schema{Enum: []string{"any", "all", "first", "last"}},
	})
	return &schema.Schema{Types: []string{"array"}, Items: operation}
}

// actionsSchema is the schema of the actions of a rule.
func actionsSchema(r *rest.Request) *schema.Schema {
	return &schema.Schema{Types: []string{"array"}, MinItems: 1, Items: operationSchema(inspectionrules.Actions(r.Series))}
}

// operationSchema is the schema of a condition or an action with one of the words.
func operationSchema(words []string) *schema.Schema {
	return &schema.Schema{
		Types: []string{"object"}, Required: []string{"op", "args"},
		Properties: []schema.Property{
			{Name: "op", Schema: &schema.Schema{Enum: words}},
			{Name: "args", Schema: &schema.Schema{Types: []string{"array", "object"}}},
			{Name: "loop", Schema: &schema.Schema{Types: []string{"array", "object"}}},
		},
	}
}

// shownConditions and shownActions return the conditions and the actions of a rule as responses show them: without the
// keys that Ironic does not know, and null for a sensitive rule.
func shownConditions(_ *rest.Request, o record, v any) any { return shownOperations(o, v, true) }

func shownActions(_ *rest.Request, o record, v any) any { return shownOperations(o, v, false) }

func shownOperations(o record, v any, conditions bool) any {
	if o.(*conductor.InspectionRule).Sensitive {
		return nil
	}
	shown := []any{}
	for _, item := range v.([]any) {
		stored := item.(map[string]any)
		operation := map[string]any{"op": stored["op"], "args": stored["args"]}
		if loop := stored["loop"]; pyrepr.Truthy(loop) {
			operation["loop"] = loop
			if conditions {
				operation["multiple"] = cmp.Or(stored["multiple"], any("any"))
			}
		}
		shown = append(shown, operation)
	}
	return shown
}

// ruleUUIDValid refuses a UUID that is none.
func ruleUUIDValid(q *request) error {
	if text, is := q.values["uuid"].(string); is && !rest.IsUUID(text) {
		return fault.Invalid("Expected UUID for uuid: %s", fault.Show(text))
	}
	return nil
}

// ruleValid refuses a rule that satisfies the schema, and is none. It replaces the operations with their stored form.
//
// Source: validate_rule in ironic/common/inspection_rules/validation.py.
func ruleValid(q *request) error {
	var invalid []string
	if phase, has := q.values["phase"]; has && phase != mainPhase {
		invalid = append(invalid, "Invalid phase: "+fault.Show(phase)+". Valid phases are: "+mainPhase)
	}
	if priority, _ := q.values["priority"].(json.Number); priority != "" {
		if n, ok := integer(priority); !ok || n > 9999 {
			invalid = append(invalid, "Priority must be between 0 and 9999 for user-defined rules.")
		}
	}
	for _, name := range []string{"conditions", "actions"} {
		check := inspectionrules.CheckAction
		if name == "conditions" {
			check = inspectionrules.CheckCondition
		}
		list, _ := q.values[name].([]any)
		stored := make([]any, len(list))
		for i, item := range list {
			operation, err := check(item.(map[string]any))
			old, patched := q.before.(*conductor.InspectionRule)
			switch {
			case errors.Is(err, inspectionrules.ErrUnsupported) && patched && old.Sensitive: // the error may quote a stored text
				return fault.Invalid("Invalid rule: an operation is %v", inspectionrules.ErrUnsupported)
			case errors.Is(err, inspectionrules.ErrUnsupported):
				return fault.Invalid("Invalid rule: %v", err)
			case err != nil:
				return &fault.Fault{Status: http.StatusInternalServerError, Text: err.Error()}
			}
			stored[i] = operation
		}
		if q.values[name] != nil {
			q.values[name] = stored
		}
	}
	switch len(invalid) {
	case 0:
		return nil
	case 1:
		return fault.Invalid("%s", invalid[0])
	default:
		return fault.Invalid("Multiple validation errors occurred: %s", strings.Join(invalid, "; "))
	}
}

// patchNotNull refuses null in place of a patch.
func patchNotNull(q *request) error {
	if q.isNull {
		return patch.ErrNull
	}
	return nil
}

// internalFields are the fields of Ironic's record that a patch may address without an effect.
var internalFields = []string{"id", "created_at", "updated_at", "scope"}

// rulePatchApplies applies the patch to the record as Ironic has it. It refuses a patch after which a sensitive rule
// would not be sensitive, by whichever operations.
func rulePatchApplies(q *request) (err error) {
	rule := q.record.(*conductor.InspectionRule)
	document := map[string]any{}
	for _, name := range internalFields {
		document[name] = nil
	}
	for i := range q.fields {
		f := &q.fields[i]
		document[f.name] = f.value(rule)
	}
	if q.values, err = q.patch.Apply(document, q.shownInFaults); err != nil {
		return err
	}
	if rule.Sensitive && !pyrepr.Truthy(q.values["sensitive"]) {
		return fault.Invalid("Couldn't apply patch. Reason: Inspection rules cannot have the sensitive flag unset.")
	}
	for name := range q.values {
		if slices.Contains(internalFields, name) {
			delete(q.values, name)
		}
	}
	return nil
}

// ruleStaysItself refuses a patch that changes the UUID: Ironic does not find the record by its new one.
func ruleStaysItself(q *request) error {
	if uuid := q.values["uuid"]; uuid != q.store.meta(q.record).UUID {
		return q.notFound(fault.Show(uuid))
	}
	return nil
}
