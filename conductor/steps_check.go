// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// checkSteps returns the requested steps with the functions and properties of the available ones, and
// the reasons why the node does not support some of them. With leaveOut a step that is not available
// is left out instead.
//
// Source: _validate_user_steps in ironic/conductor/steps.py.
func (b *rulebook) checkSteps(requests []StepRequest, kind stepKind, available []Step, withoutRamdisk, leaveOut bool) (steps []Step, problems []string) {
	count := map[string]int{}
	for _, request := range requests {
		step, err := b.runnable(Step{Interface: request.Interface, Step: request.Step, Args: request.Args}, available)
		switch {
		case err != nil && leaveOut:
			continue
		case err != nil:
			problems = append(problems, fmt.Sprintf("node does not support this %s step: %v", kind.verb, request))
			continue
		}
		if request.Priority != nil {
			step.Priority = *request.Priority
		}
		problems = append(problems, step.problems(request, kind, withoutRamdisk)...)
		steps = append(steps, step)
		count[step.Interface+"."+step.Step]++
	}
	var twice []string
	for name, n := range count {
		if n > 1 && kind.work == states.Deploying {
			twice = append(twice, name)
		}
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		problems = append(problems, "deploy steps from all deploy templates matching this node's instance traits cannot have the same interface and step. Duplicate deploy steps for "+strings.Join(twice, ", "))
	}
	return steps, problems
}

// problems returns the reasons why a step cannot run as requested.
func (s Step) problems(request StepRequest, kind stepKind, withoutRamdisk bool) (problems []string) {
	if _, ok := builtinSteps[s.Step]; ok {
		return nil
	}
	disabled := kind.work == states.Deploying && s.Priority <= 0
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
		problems = append(problems, fmt.Sprintf("%s step %v has these unexpected arguments: %s", kind.verb, request, strings.Join(unexpected, ", ")))
	}
	if len(missing) > 0 {
		problems = append(problems, fmt.Sprintf("%s step %v is missing these required arguments: %s", kind.verb, request, strings.Join(missing, ", ")))
	}
	if withoutRamdisk && !s.NoRamdisk {
		problems = append(problems, fmt.Sprintf("%s step %v requires booting a ramdisk", kind.verb, request))
	}
	if kind.work == states.Deploying && !disabled && s.Interface == "deploy" && s.Step == "deploy" {
		problems = append(problems, "deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0")
	}
	return problems
}

// String returns the step as Ironic prints it in its errors, without secrets.
func (r StepRequest) String() string {
	fields := []string{"'interface': " + pyrepr.Text(r.Interface), "'step': " + pyrepr.Text(r.Step)}
	if r.Args != nil {
		fields = append(fields, "'args': "+pyrepr.Of(masked.Value(r.Args)))
	}
	if r.Priority != nil {
		fields = append(fields, fmt.Sprintf("'priority': %d", *r.Priority))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
