// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/machine/admission"
)

// CheckSteps returns an error that matches [Invalid] if the rules do not allow a step of the request, and otherwise
// nil.
//
// Source: check_disallowed_steps in ironic/conductor/steps.py.
func (r *ProvisionRequest) CheckSteps(rules admission.Rules) error {
	for i := range works {
		kind := &works[i]
		if kind.requested == nil {
			continue
		}
		for _, step := range kind.requested(r) {
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

// allowed returns a copy of the steps without those that the operator's configuration does not allow.
func (b *rulebook) allowed(kind *workKind, steps []Step) []Step {
	rules := b.admission()
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !rules.AllowsStep(kind.work, s.String()) })
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
