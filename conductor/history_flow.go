// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// flow returns Ironic's word for the steps that a node's work executes. It is empty for work whose steps have no
// entries in the history, and in series before 2025.2.
//
// Source: StepFlow and log_step_flow_history in ironic/conductor/utils.py since 31.0.0.
func (h history) flow(n *Node) string {
	kind := kindOf(n.ProvisionState)
	switch {
	case h.config.Table.Series() < states.Flamingo:
		return ""
	case kind.work != states.WorkClean:
		return kind.flow
	case n.TargetProvisionState == states.Manageable:
		return "manual_" + kind.flow
	default:
		return "automated_" + kind.flow
	}
}

// begun adds to a node's history that its work executes steps, which are given by their records.
func (h history) begun(ctx context.Context, n *Node, steps []any) {
	if flow := h.flow(n); flow != "" {
		h.add(ctx, n, "INFO", fmt.Sprintf("Starting %s with steps=%s", strings.ReplaceAll(flow, "_", " "), stepsText(steps)), flow+"_start")
	}
}

// ended adds to a node's history that all steps of its work have ended, or which one has failed. before is the node
// before the end of the work, whose state has the steps. As in Ironic, a cleaning and a service have forgotten their
// steps when they end.
func (h history) ended(ctx context.Context, before *Node, r result) {
	flow := h.flow(before)
	if flow == "" {
		return
	}
	kind := kindOf(before.ProvisionState)
	steps := kind.records(kind.of(before).Planned)
	title := map[string]string{
		"deployment": "Deployment", "servicing": "Servicing", "manual_cleaning": "Manual Cleaning", "automated_cleaning": "Automated Cleaning",
	}[flow]
	var failed *stepError
	switch {
	case errors.As(r.err, &failed):
		h.add(ctx, before, "ERROR", fmt.Sprintf("%s aborted at step '%s' with steps=%s", title, failed.step.Step, stepsText(steps)), flow+"_end")
	case r.stepsDone:
		if kind.work != states.WorkDeploy {
			steps = nil
		}
		h.add(ctx, before, "INFO", fmt.Sprintf("%s completed successfully with steps=%s", title, stepsText(steps)), flow+"_end")
	}
}

// stepsText returns the records of steps as Ironic prints them, without secrets.
func stepsText(steps []any) string { return pyrepr.Of(masked.Value(steps)) }
