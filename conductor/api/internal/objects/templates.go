// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api/internal/rest"
	"github.com/ironstate/ironstate/conductor/api/internal/schema"
	"github.com/ironstate/ironstate/conductor/api/internal/since"
	"github.com/ironstate/ironstate/conductor/api/internal/traits"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// DeployTemplates returns the controller of /v1/deploy_templates.
func DeployTemplates(s *rest.Service) *rest.Controller {
	c := templateResource.controller(s)
	c.Admit = rest.RefuseBefore(since.DeployTemplates, "deploy templates", true)
	return c
}

var templateResource = complete(resource{
	of: &conductor.DeployTemplate{}, path: "deploy_templates", word: "template", noun: "Deploy template", since: since.DeployTemplates,
	schemas: schemaRules{since: states.Hibiscus, queryFields: []string{"description"}},
	fields: []field{
		uuidField,
		{name: "name", flags: required, schema: func(*rest.Request) *schema.Schema { return traits.Schema }},
		{name: "description", types: schema.TextOrNull, flags: hidden | noColumn, max: 255},
		extraField,
		{name: "steps", flags: required, zero: []any{}, schema: StepsSchema("priority", true), convert: toSteps("priority"), mask: masked.Value},
	},
	list: listRules{defaults: []string{"uuid", "name"}, detailSince: since.Detail, marker: nameKind},
	orders: orders{
		list: listChecks{
			parametersDecode, parametersInSchema, listFieldsAllowed, fieldsChosen, pageValid, sortKeyHasOrder, markerExists, recordsOnPage,
			listFieldsExist,
		},
		update: checks{patchApplies, templateStepsValid, documentValid, fieldsSet},
	},
	patching: patchRules{fields: []string{"extra", "name", "steps", "description"}},
})

// templateStepsValid refuses invalid steps of a patched deploy template before documentValid does, with its own text
// for each step.
func templateStepsValid(q *request) error {
	steps, _ := q.values["steps"].([]any)
	valid := StepsSchema("priority", true)(q.r).Items
	for _, step := range steps {
		if err := valid.Validate("patch", step); err != nil {
			return err
		}
	}
	return nil
}
