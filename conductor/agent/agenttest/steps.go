// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// works are the kinds of work that have steps.
var works = []string{"clean", "deploy", "service"}

// The hardware manager of the built-in steps.
const (
	managerClass   = "GenericHardwareManager"
	managerName    = "generic_hardware_manager"
	managerVersion = "1.1"
)

// managerVersions are the versions of the hardware managers, as they are sent with the steps.
func managerVersions() map[string]any { return map[string]any{managerName: managerVersion} }

// builtInSteps lists the steps of the generic hardware manager that a machine without a real disk can execute.
//
// Source: GenericHardwareManager in ironic_python_agent/hardware.py.
var builtInSteps = []struct {
	works     []string
	name      string
	priority  int
	abortable bool
	run       commandFunc
}{
	{[]string{"clean"}, "erase_devices", 10, true, (*agent).eraseDevices},
	{[]string{"clean"}, "erase_devices_metadata", 99, true, (*agent).eraseMetadata},
	{[]string{"clean"}, "erase_devices_express", 0, true, (*agent).eraseMetadata},
	{[]string{"deploy"}, "erase_devices_metadata", 0, false, (*agent).eraseMetadata},
	{[]string{"deploy", "service"}, "write_image", 0, false, (*agent).writeImage},
}

// steps returns the steps for a kind of work.
func (a *agent) steps(work string) []Step {
	steps := []Step{}
	for _, s := range a.machine.config.Steps {
		if s.Work == work {
			steps = append(steps, s)
		}
	}
	for _, b := range builtInSteps {
		if !slices.Contains(b.works, work) || slices.ContainsFunc(steps, func(s Step) bool { return s.Name == b.name }) {
			continue
		}
		steps = append(steps, Step{
			Work: work, Interface: "deploy", Name: b.name, Priority: b.priority, Abortable: b.abortable,
			Run: func(ctx context.Context, args map[string]any) (any, error) { return b.run(a, ctx, args) },
		})
	}
	return steps
}

// listSteps returns the command get_WORK_steps.
func listSteps(work string) commandFunc {
	return func(a *agent, _ context.Context, _ map[string]any) (any, error) {
		listed := []any{}
		for _, s := range a.steps(work) {
			item := map[string]any{"step": s.Name, "interface": s.Interface, "priority": s.Priority, "reboot_requested": s.Reboot}
			if work != "deploy" {
				item["abortable"] = s.Abortable
			}
			if s.ArgsInfo != nil {
				item["argsinfo"] = s.ArgsInfo
			}
			listed = append(listed, item)
		}
		return map[string]any{work + "_steps": map[string]any{managerClass: listed}, "hardware_manager_version": managerVersions()}, nil
	}
}

// executeStep returns the command execute_WORK_step. An agent finds a step by its name alone: it ignores the interface.
//
// Source: execute_clean_step in ironic_python_agent/extensions/clean.py and its counterparts, dispatch_to_managers in
// ironic_python_agent/hardware.py.
func executeStep(work string) commandFunc {
	return func(a *agent, ctx context.Context, params map[string]any) (any, error) {
		if used := params[work+"_version"]; used != nil && !reflect.DeepEqual(used, managerVersions()) {
			return nil, versionsDiffer(managerVersions(), used)
		}
		step, _ := params["step"].(map[string]any)
		name, ok := step["step"].(string)
		if !ok {
			//lint:ignore ST1005 the text is the agent's
			return nil, fmt.Errorf("Malformed %s_step, no \"step\" key: %v", work, step)
		}
		steps := a.steps(work)
		i := slices.IndexFunc(steps, func(s Step) bool { return s.Name == name })
		if i < 0 {
			return nil, newFailure("HardwareManagerMethodNotFound", http.StatusInternalServerError, "No HardwareManager found to handle method",
				"Could not find method: %s", name)
		}
		args, _ := step["args"].(map[string]any)
		result, err := steps[i].Run(ctx, maps.Clone(args))
		if err != nil {
			return nil, stepFailed(work, name, err)
		}
		return map[string]any{work + "_result": result, work + "_step": step}, nil
	}
}

// stepFailed returns an error of a step as it is if it is one of the agent's, and otherwise as its error of the work.
func stepFailed(work, step string, err error) error {
	if errors.As(err, new(*failure)) {
		return err
	}
	kind := map[string]string{"clean": "CleaningError", "deploy": "DeploymentError", "service": "ServicingError"}[work]
	return newFailure(kind, http.StatusInternalServerError, strings.ToUpper(work[:1])+work[1:]+" step failed",
		"Unexpected exception performing %s step %s. Exception: %v", work, step, err)
}

// workOf returns the work of a command's step, "" for a command without one.
func workOf(params map[string]any) string {
	for _, work := range works {
		if _, ok := params[work+"_version"]; ok {
			return work
		}
	}
	return ""
}

// replacedManagers is the error of a step whose hardware manager was replaced.
func replacedManagers(params map[string]any) error {
	return versionsDiffer(map[string]any{managerName: "2.0"}, params[workOf(params)+"_version"])
}

func versionsDiffer(versions, used any) error {
	return newFailure("VersionMismatch", http.StatusConflict, "Hardware managers version mismatch, reload agent with correct version",
		"Current versions: %v, versions used by ironic: %v", versions, used)
}

// pretendedResult is the result of a command that was not executed.
func pretendedResult(params map[string]any) any {
	if work := workOf(params); work != "" {
		return map[string]any{work + "_result": nil, work + "_step": params["step"]}
	}
	return nil
}
