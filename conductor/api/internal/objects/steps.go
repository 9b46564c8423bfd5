// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	"github.com/ironstate/ironstate/conductor/api/internal/fault"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/states"
)

// StepsSchema is the schema of the steps of a deploy template or a runbook. order is the key that
// orders them: "priority" or "order".
//
// Source: DEPLOY_STEP_SCHEMA in ironic/api/controllers/v1/utils.py.
func StepsSchema(order string, withArgs bool) func(*rest.Request) *schema.Schema {
	return func(r *rest.Request) *schema.Schema {
		step := &schema.Schema{
			Types: []string{"object"}, Closed: true, Required: []string{"interface", "step", "args", order},
			Properties: []schema.Property{
				{Name: "args", Schema: &schema.Schema{Types: []string{"object"}, Secret: true}},
				{Name: "interface", Schema: &schema.Schema{Types: schema.TextType, Enum: StepInterfaces(r.Service)}},
				{Name: order, Schema: StepNumber()},
				{Name: "step", Schema: &schema.Schema{Types: schema.TextType, MinLength: 1}},
			},
		}
		if !withArgs {
			step.Required = []string{"interface", "step", order}
		}
		return &schema.Schema{Types: []string{"array"}, Items: step, MinItems: 1, Recent: r.Series >= states.Gazpacho}
	}
}

var digits = regexp.MustCompile("^[0-9]+$")

// StepNumber is the schema of the number that orders steps, which may be a text.
func StepNumber() *schema.Schema {
	return &schema.Schema{AnyOf: []*schema.Schema{
		{Types: []string{"integer"}, Min: "0"},
		{Types: schema.TextType, MinLength: 1, Pattern: digits},
	}}
}

// toSteps returns the steps of a deploy template or a runbook. It refuses two equal ones.
func toSteps(order string) func(*rest.Request, string, any) (any, error) {
	return func(r *rest.Request, _ string, v any) (any, error) {
		kind := "deploy template"
		if r.Series >= states.Dalmatian {
			kind = "template"
		}
		seen := map[string]bool{}
		var steps []any
		for _, item := range v.([]any) {
			step := maps.Clone(item.(map[string]any))
			name := fmt.Sprintf("interface: %s, step: %s", step["interface"], step["step"])
			if seen[name] {
				return nil, fault.Invalid("Deploy template invalid: Duplicate deploy steps. "+
					"A %s cannot have multiple deploy steps with the same interface and step. Duplicates: %s.", kind, name)
			}
			seen[name] = true
			number, ok := WholeNumber(step[order])
			if !ok {
				return nil, fault.Invalid("%s %s is out of range", order, fault.Repr(step[order]))
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

// StepInterfaces returns the kinds of hardware interfaces that have steps. Source:
// ironic/conductor/steps.py.
func StepInterfaces(s *rest.Service) []string {
	if s.Series < states.Bobcat {
		return []string{"power", "management", "deploy", "bios", "raid"}
	}
	return []string{"vendor", "power", "management", "firmware", "deploy", "bios", "raid"}
}
