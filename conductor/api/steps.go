package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// integer returns a JSON number as an int, and whether it has no fraction and fits.
func integer(v json.Number) (n int, ok bool) {
	if n, err := strconv.Atoi(v.String()); err == nil {
		return n, true
	}
	f, err := v.Float64()
	n = int(f)
	return n, err == nil && f == float64(n)
}

// stepsSchema is the schema of the steps of a deploy template or a runbook. order is the key that
// orders them: "priority" or "order".
//
// Source: DEPLOY_STEP_SCHEMA in ironic/api/controllers/v1/utils.py.
func stepsSchema(order string, withArgs bool) func(*service) *schema {
	return func(s *service) *schema {
		step := &schema{
			types: []string{"object"}, closed: true, required: []string{"interface", "step", "args", order},
			properties: []property{
				{"args", &schema{types: []string{"object"}, secret: true}},
				{"interface", &schema{types: textType, enum: s.stepInterfaces()}},
				{order, &schema{anyOf: []*schema{
					{types: []string{"integer"}, min: "0"},
					{types: textType, minLength: 1, pattern: regexp.MustCompile("^[0-9]+$")},
				}}},
				{"step", &schema{types: textType, minLength: 1}},
			},
		}
		if !withArgs {
			step.required = []string{"interface", "step", order}
		}
		return &schema{types: []string{"array"}, items: step, minItems: 1}
	}
}

// toSteps returns the steps of a deploy template or a runbook. It refuses two equal ones.
func toSteps(order string) func(*request, any) (any, error) {
	return func(_ *request, v any) (any, error) {
		seen := map[string]bool{}
		var steps []any
		for _, item := range v.([]any) {
			step := maps.Clone(item.(map[string]any))
			name := fmt.Sprintf("interface: %s, step: %s", step["interface"], step["step"])
			if seen[name] {
				return nil, invalid("Deploy template invalid: Duplicate deploy steps. A deploy template cannot have multiple deploy steps with the same interface and step. Duplicates: %s.", name)
			}
			seen[name] = true
			number, ok := wholeNumber(step[order])
			if !ok {
				return nil, invalid("%s %s is out of range", order, repr(step[order]))
			}
			step[order] = json.Number(strconv.Itoa(number))
			if step["args"] == nil {
				step["args"] = noObject
			}
			steps = append(steps, step)
		}
		return steps, nil
	}
}

// maskSteps masks the secrets in the arguments of steps.
func maskSteps(v any) any {
	return masked.Value(v)
}

// stepInterfaces returns the kinds of hardware interfaces that have steps. Source:
// ironic/conductor/steps.py.
func (s *service) stepInterfaces() []string {
	if s.series < states.Bobcat {
		return []string{"power", "management", "deploy", "bios", "raid"}
	}
	return []string{"vendor", "power", "management", "firmware", "deploy", "bios", "raid"}
}

// wholeNumber returns a non-negative integer, which may be a number or a string.
func wholeNumber(v any) (int, bool) {
	switch v := v.(type) {
	case json.Number:
		n, ok := integer(v)
		return n, ok && n >= 0
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil && n >= 0
	default:
		return 0, false
	}
}
