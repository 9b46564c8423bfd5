// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"slices"
	"time"

	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// Steps are the steps of a kind of work on a node, and how far the work is. Work that has ended
// leaves the zero value.
type Steps struct {
	// Requested are the steps in the client's request or of the runbook; nil if there are none, as for other automated
	// cleanings.
	Requested []StepRequest `json:"requested,omitzero"`
	// DisableRamdisk is true if the client or the runbook requests the steps without a ramdisk. It is nil, which stands
	// for false, if neither says it: responses show the difference for a service.
	DisableRamdisk *bool `json:"disable_ramdisk,omitzero"`
	// ByRunbook is set if Requested are the steps of a runbook for an automated cleaning.
	ByRunbook bool `json:"by_runbook,omitzero"`
	// Prepared is set if the agent of a cleaning or a service was booted for the steps, see [AgentBooter], or by fast
	// track ran already.
	Prepared bool `json:"prepared,omitzero"`
	// Sent is set if the node's agent has accepted the current step.
	Sent bool `json:"sent,omitzero"`
	// Rebooted is set if the machine is rebooted after the current step, as the step requires.
	Rebooted bool `json:"rebooted,omitzero"`
	// Validated is set if the steps of a deployment were planned again with the agent's steps.
	Validated bool `json:"validated,omitzero"`
	// Planned are all steps of the work, without their functions; nil before the work begins.
	Planned []Step `json:"planned,omitzero"`
	// Begun is the number of the planned steps that have begun.
	Begun int `json:"begun,omitzero"`
	// Current is the step that runs, waits or is held, without its function; nil for none. The end of
	// a tear-down leaves the step of the deployment, as in Ironic.
	Current *Step `json:"current,omitzero"`
	// AbortAfter ends the work after the current step: a client has requested an abort, and the step
	// is not abortable. Before 2026.1 work ends normally after its last step.
	AbortAfter bool `json:"abort_after,omitzero"`
}

// clone returns a copy whose fields may be modified. The arguments of steps are shared.
func (s *Steps) clone() *Steps {
	if s == nil {
		return nil
	}
	c := *s
	c.Requested, c.Planned = slices.Clone(s.Requested), slices.Clone(s.Planned)
	if s.Current != nil {
		current := *s.Current
		c.Current = &current
	}
	return &c
}

// of returns the steps of a node, zero if it has none. Do not modify what they share with the node.
func (k *workKind) of(n *Node) Steps {
	if k.steps.in == nil || *k.steps.in(n) == nil {
		return Steps{}
	}
	return **k.steps.in(n)
}

// ensureSteps returns the steps of a node for a change.
func (k *workKind) ensureSteps(n *Node) *Steps {
	s := k.steps.in(n)
	if *s == nil {
		*s = &Steps{}
	}
	return *s
}

// automated reports whether the conductor has begun a node's work by itself: a cleaning that makes the node available.
func (k *workKind) automated(n *Node) bool {
	return k.texts.automatedFlow != "" && n.TargetProvisionState != states.Manageable
}

// composed reports whether a client or a runbook has composed the steps of a node's cleaning or service.
func (k *workKind) composed(n *Node) bool {
	return k.steps.requested != nil && !k.steps.merges && (!k.automated(n) || k.of(n).ByRunbook)
}

// forget removes the steps of finished work from a node's record.
func (k *workKind) forget(n *Node) {
	if k.steps.in != nil {
		*k.steps.in(n) = &Steps{}
	}
}

// beginSteps makes work that has begun start with its first step: a client may have ended earlier work of the same
// kind, as with "manage" in cleaning, and its progress is then still in the record. Work that waited or was held
// continues. The lists of steps stay, as in Ironic.
func (n *Node) beginSteps(from states.State) {
	kind := kindOf(n.ProvisionState)
	if kind.steps.in == nil || !runsIn(n.ProvisionState) || kind == kindOf(from) {
		return
	}
	if s := *kind.steps.in(n); s != nil {
		*s = Steps{Requested: s.Requested, DisableRamdisk: s.DisableRamdisk, Planned: s.Planned}
	}
}

// withoutRamdisk reports whether the steps are to run without a ramdisk.
func (s Steps) withoutRamdisk() bool { return s.DisableRamdisk != nil && *s.DisableRamdisk }

// disableRamdisk has the steps run without a ramdisk.
func (s *Steps) disableRamdisk() { disabled := true; s.DisableRamdisk = &disabled }

// repeatsPrevious reports whether the step before the current one has the same name. A step runs.
func (s Steps) repeatsPrevious() bool {
	i := s.Begun - 1
	return 0 < i && s.Planned[i].String() == s.Planned[i-1].String()
}

// begun reports whether the work has started its first step or its preparation.
func (s Steps) begun() bool { return s.Begun > 0 || s.Prepared }

// Step returns the current step of the work in the node's provision state, without its function. It
// is zero if no step runs, waits or is held.
func (n *Node) Step() Step {
	if current := kindOf(n.ProvisionState).of(n).Current; current != nil {
		return *current
	}
	return Step{}
}

// String returns the interface and the name of a step: "deploy.deploy".
func (s Step) String() string {
	if s.Interface == "" {
		return s.Step
	}
	return s.Interface + "." + s.Step
}

// recorded returns a step as it is stored.
func (s Step) recorded() Step {
	s.Run = nil
	return s
}

// Record returns the step as Ironic's records and texts have it in the steps of a cleaning, a deployment or a service.
// A clean or service step that a client requested has fewer keys.
// The caller owns the map, and shares the arguments with the step.
func (s Step) Record(work states.Work) map[string]any {
	if s.OnChildren { // it is not compared with the steps of the node
		return s.request().Record()
	}
	lean := int(work) < len(works) && works[work].steps.recordsLikeDeploySteps
	step := map[string]any{"interface": s.Interface, "step": s.Step, "priority": s.Priority}
	if !lean || s.Abortable {
		step["abortable"] = s.Abortable
	}
	if !s.Requested {
		info := argumentsInfo(s.ArgsInfo)
		switch {
		case s.Listed: // as the agent describes it
			step["reboot_requested"] = s.RebootRequested
		case !lean:
			step["requires_ramdisk"] = !s.NoRamdisk
		}
		if info != nil || !s.Listed {
			step["argsinfo"] = info
		}
	}
	if s.Args != nil {
		step["args"] = s.Args
	}
	if s.Order != nil {
		step["order"] = *s.Order
	}
	return step
}

// request returns a planned step of a cleaning or a service as it was requested.
func (s Step) request() StepRequest {
	return StepRequest{Interface: s.Interface, Step: s.Step, Args: s.Args, Order: s.Order, OnChildren: s.OnChildren, Children: s.Children}
}

// argumentsInfo returns the descriptions of a step's arguments, null for none.
func argumentsInfo(arguments map[string]StepArgument) any {
	if len(arguments) == 0 {
		return nil
	}
	info := map[string]any{}
	for name, a := range arguments {
		argument := map[string]any{}
		if a.Description != "" {
			argument["description"] = a.Description
		}
		if a.Required {
			argument["required"] = true
		}
		info[name] = argument
	}
	return info
}

// Record returns the step as Ironic's records and texts have it before it is planned. The caller owns the map, and
// shares the arguments with the step.
func (r StepRequest) Record() map[string]any {
	step := map[string]any{"interface": r.Interface, "step": r.Step}
	if r.Args != nil {
		step["args"] = r.Args
	}
	if r.Priority != nil {
		step["priority"] = *r.Priority
	}
	if r.Order != nil {
		step["order"] = *r.Order
	}
	if r.OnChildren {
		step["execute_on_child_nodes"] = true
	}
	if len(r.Children) > 0 {
		children := make([]any, len(r.Children))
		for i, child := range r.Children {
			children[i] = child
		}
		step["limit_child_node_execution"] = children
	}
	return step
}

// records returns the records of planned steps or of requests.
func records[S any](steps []S, record func(S) map[string]any) []any {
	list := make([]any, len(steps))
	for i, step := range steps {
		list[i] = record(step)
	}
	return list
}

// records returns the records of steps of this kind.
func (k *workKind) records(steps []Step) []any {
	return records(steps, func(s Step) map[string]any { return s.Record(k.work) })
}

// builtinSteps are the steps that exist for every hardware type, and whether each waits for a client or an agent.
//
// Source: the reserved steps of ironic/conductor/steps.py since 2023.2.
var builtinSteps = map[string]bool{"hold": true, "wait": true, "power_on": false, "power_off": false, "reboot": false}

// runBuiltin does the current step, which is one of builtinSteps.
func (t *Task) runBuiltin(ctx context.Context) error {
	switch t.step.Step {
	case "hold":
		return errHeld
	case "wait":
		return waitStep(ctx, t)
	case "power_on":
		return t.SetPower(ctx, states.PowerOn)
	case "power_off":
		return t.SetPower(ctx, states.PowerOff)
	case "reboot":
		return t.SetPower(ctx, states.PowerRebooting)
	}
	return refuse(Invalid, "step %v is neither its hardware type's nor built in", t.step)
}

// maxWait bounds the argument of the step "wait" (max_conductor_wait_step_seconds).
const maxWait = 30 * time.Second

// waitStep waits for the number of seconds in its argument "seconds", maxWait at most, or without one for the next
// heartbeat. In Ironic the node is in the waiting state for these seconds, and nothing continues its work after them.
//
// Source: use_reserved_step_handler in ironic/conductor/steps.py.
func waitStep(ctx context.Context, t *Task) error {
	seconds, ok := asNumber(t.Step().Args["seconds"])
	if !ok {
		return ErrWait
	}
	seconds = min(max(seconds, 0), maxWait.Seconds())
	sleep.For(ctx, time.Duration(seconds*float64(time.Second)))
	return context.Cause(ctx)
}
