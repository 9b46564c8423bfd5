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
	switch kind := kindOf(n.ProvisionState); {
	case h.config.Table.Series() < states.Flamingo:
		return ""
	case kind.automated(n):
		return kind.automatedFlow
	default:
		return kind.flow
	}
}

// flowType returns the event_type of the "start" or the "end" of a flow.
func flowType(flow, moment string) string {
	return strings.ReplaceAll(strings.ToLower(flow), " ", "_") + "_" + moment
}

// begun adds to a node's history that its work executes steps, which are given by their records.
func (h history) begun(ctx context.Context, n *Node, steps []any) {
	if flow := h.flow(n); flow != "" {
		h.add(ctx, n, "INFO", fmt.Sprintf("Starting %s with steps=%s", strings.ToLower(flow), stepsText(steps)), flowType(flow, "start"))
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
	kind, end := kindOf(before.ProvisionState), flowType(flow, "end")
	steps := kind.records(kind.of(before).Planned)
	var failed *stepError
	switch {
	case errors.As(r.err, &failed):
		h.add(ctx, before, "ERROR", fmt.Sprintf("%s aborted at step '%s' with steps=%s", flow, failed.step.Step, stepsText(steps)), end)
	case r.stepsDone:
		if !kind.merges {
			steps = nil
		}
		h.add(ctx, before, "INFO", fmt.Sprintf("%s completed successfully with steps=%s", flow, stepsText(steps)), end)
	}
}

// stepsText returns the records of steps as Ironic prints them, without secrets.
func stepsText(steps []any) string { return pyrepr.Of(masked.Value(steps)) }
