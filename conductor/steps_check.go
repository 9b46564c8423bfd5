// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
)

// checked returns a requested step as Ironic prints it after its first check, which adds what a client cannot choose.
func (s Step) checked(request StepRequest) string {
	return fmt.Sprintf("%s, 'abortable': %s, 'priority': %d}", strings.TrimSuffix(request.String(), "}"), pyrepr.Of(s.Abortable), s.Priority)
}

// problems returns the reasons why a step cannot run as requested.
func (s Step) problems(request string, kind *workKind, withoutRamdisk bool) (problems []string) {
	if _, ok := builtinSteps[s.Step]; ok {
		return nil
	}
	disabled := kind.steps.merges && s.Priority <= 0
	var unexpected, missing []string
	for name := range s.Args {
		if _, ok := s.ArgsInfo[name]; !ok {
			unexpected = append(unexpected, name)
		}
	}
	for name, argument := range s.ArgsInfo {
		if _, ok := s.Args[name]; !ok && argument.Required && !disabled {
			missing = append(missing, fmt.Sprintf("%s (%s)", name, argument.Description))
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	if len(unexpected) > 0 {
		problems = append(problems,
			fmt.Sprintf("%v step %s has these unexpected arguments: %s", kind.work, request, strings.Join(unexpected, ", ")))
	}
	if len(missing) > 0 {
		problems = append(problems,
			fmt.Sprintf("%v step %s is missing these required arguments: %s", kind.work, request, strings.Join(missing, ", ")))
	}
	if withoutRamdisk && !s.NoRamdisk {
		problems = append(problems, fmt.Sprintf("%v step %s requires booting a ramdisk", kind.work, request))
	}
	if kind.steps.merges && !disabled && s.Interface == "deploy" && s.Step == "deploy" {
		problems = append(problems, "deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. "+
			"It may be disabled by setting the priority to 0")
	}
	return problems
}

// String returns the step as Ironic prints it in its errors, without secrets.
func (r StepRequest) String() string {
	fields := []string{"'interface': " + pyrepr.Text(r.Interface), "'step': " + pyrepr.Text(r.Step)}
	if r.Args != nil {
		fields = append(fields, "'args': "+pyrepr.Of(masked.Value(r.Args)))
	}
	if r.Order != nil {
		fields = append(fields, fmt.Sprintf("'order': %d", *r.Order))
	}
	if r.Priority != nil {
		fields = append(fields, fmt.Sprintf("'priority': %d", *r.Priority))
	}
	if r.OnChildren {
		fields = append(fields, "'execute_on_child_nodes': True")
	}
	if len(r.Children) > 0 {
		fields = append(fields, "'limit_child_node_execution': "+pyrepr.List(r.Children))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// CheckSteps returns an error that matches [Invalid] if the rules do not allow a step of the request, and otherwise
// nil.
//
// Source: check_disallowed_steps in ironic/conductor/steps.py.
func (r *ProvisionRequest) CheckSteps(rules admission.Rules) error {
	for i := range works {
		kind := &works[i]
		if kind.steps.requested == nil {
			continue
		}
		for _, step := range kind.steps.requested(r) {
			if text := disallowedText(rules, kind, step.Interface+"."+step.Step); text != "" {
				return refuse(Invalid, "%s", text)
			}
		}
	}
	return nil
}

// disallowedText returns why the operator's configuration does not allow a step, or "" if it does.
func disallowedText(rules admission.Rules, kind *workKind, step string) string {
	if rules.AllowsStep(kind.work, step) {
		return ""
	}
	return fmt.Sprintf("%v step '%s' is not allowed. Disallowed by operator configuration [api]disallow_%v_steps.", kind.work, step, kind.work)
}

// allNamed reports whether all steps are named by their interface and themselves.
func allNamed(steps []string) bool {
	for _, name := range steps {
		if kind, step, _ := strings.Cut(name, "."); kind == "" || step == "" {
			return false
		}
	}
	return true
}
