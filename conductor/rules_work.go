// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/internal/sequence"
	"github.com/ironstate/ironstate/states"
)

// lookupAllowed returns the states in which a node's agent may look the node up.
//
// Source: lookup_allowed in ironic/api/controllers/v1/ramdisk.py.
func (b *rulebook) lookupAllowed(n *Node) states.Set {
	if on, _ := b.config.fastTracks(n); on {
		return b.config.Table.FastTrackLookupAllowed()
	}
	return b.config.Table.LookupAllowed()
}

// checkHeartbeat returns the error of a heartbeat that is not of the node's agent.
func (b *rulebook) checkHeartbeat(n *Node, h Heartbeat) error {
	switch known := n.Agent; {
	case !known.has(h.AgentToken):
		return errAgentToken
	case known.URL != "" && known.URL != h.CallbackURL:
		return refuse(Invalid, "Detected change in ramdisk provided \"callback_url\"")
	case *b.config.RequireAgentTLS && h.CallbackURL != "" && !strings.HasPrefix(h.CallbackURL, "https://"):
		return refuse(Invalid, "TLS is required by configuration")
	case strings.ContainsFunc(h.AgentVerifyCA, isNotPEM):
		return refuse(Invalid, "agent_verify_ca is not a certificate in PEM")
	case known.VerifyCA != "" && h.AgentVerifyCA != "" && known.VerifyCA != h.AgentVerifyCA:
		return refuse(Invalid, "Detected change in ramdisk provided certificate")
	default:
		return nil
	}
}

// isNotPEM reports whether a character is in no text in PEM, such as ESC.
func isNotPEM(r rune) bool { return r > '~' || r < ' ' && !strings.ContainsRune("\r\n\t", r) }

// recordsHeartbeat reports whether a heartbeat is stored by fast track, in a state in which it has no other effect.
//
// Source: FASTTRACK_HEARTBEAT_ALLOWED in ironic/drivers/modules/agent_base.py; fast_track_able, which adds the states
// of an inspection.
func (b *rulebook) recordsHeartbeat(n *Node) bool {
	on, _ := b.config.fastTracks(n)
	return on && b.config.Table.FastTrackLookupAllowed().Has(n.ProvisionState)
}

// keepsAgent reports whether the record of a node keeps its agent at the end of the work of the node's state, since the
// machine stays on and the next work may be the agent's. The agent may have a token and not yet have sent a heartbeat.
//
// Source: fast_track_able in ironic/conductor/utils.py, and what asks it.
func (b *rulebook) keepsAgent(n *Node, at time.Time) bool {
	on, _ := b.config.fastTracks(n)
	ends := succeeds(n.ProvisionState) && kindOf(n.ProvisionState).agent.stays
	return on && ends && n.LastError == "" && n.Power != states.PowerOff && n.agentHeard(at, b.config.FastTrackTimeout)
}

// succeeds reports whether work can succeed in a state: an inspection also in the state in which it waits.
func succeeds(s states.State) bool {
	_, ok := states.Latest().Table().Next(s, states.EventDone)
	return ok
}

// sequenceOf returns the part of a node's record on which the sequence of actions depends.
func (b *rulebook) sequenceOf(n *Node, kind *workKind, use agentUse) sequence.Record {
	steps, last := kind.of(n), len(n.Transitions)-1
	return sequence.Record{
		Series: b.config.Table.Series(), Waited: last >= 0 && kindOf(n.Transitions[last].From) == kind,
		NotedEarly: kind.steps.historyBeforePlan, TakesAgent: kind.agent.reused, BootsInStep: kind.bootsInStep(),
		ByAgent: use.executes, WritesImage: use.writesImage,
		WithoutRamdisk: kind.withoutRamdisk(n), NeedsNoRamdisk: use.executes && b.needsNoRamdisk(n, kind, use.available),
		Prepared: steps.Prepared, Begun: steps.Begun > 0, Validated: steps.Validated, AbortAfter: steps.AbortAfter,
	}
}

// pause returns the result of work that waits or is held, with the event wait or hold. If the table
// has no such transition from the state, the work fails.
func (b *rulebook) pause(work states.State, event states.Event, err error) result {
	if _, ok := b.config.Table.Next(work, event); !ok {
		return failedWith(fmt.Errorf("work in state %q cannot be interrupted: %w", work, err))
	}
	return result{event: event}
}

// runnable completes a requested or stored step with the hardware type's function and
// properties.
func (b *rulebook) runnable(step Step, available []Step) (Step, error) {
	if step.OnChildren {
		step.Run = runOnChildren
		return step, nil
	}
	for _, s := range available {
		if s.Interface == step.Interface && s.Step == step.Step {
			s.Args, s.Order, s.Requested = step.Args, step.Order, step.Requested
			if step.Priority != 0 {
				s.Priority = step.Priority
			}
			return s, nil
		}
	}
	if _, ok := builtinSteps[step.Step]; ok && b.config.Table.Series() >= states.Bobcat {
		step.Abortable = true
		return step, nil
	}
	if step.InBand {
		step.Run = runInBand // the record has forgotten the agent's steps when the machine was rebooted
		return step, nil
	}
	return Step{}, fmt.Errorf("the hardware type has no step %s.%s", step.Interface, step.Step)
}

// checkSteps returns the requested steps with the functions and properties of the available ones, and
// the reasons why the node does not support some of them. With leaveOut a step that is not available
// is left out instead.
//
// Source: _validate_user_steps in ironic/conductor/steps.py.
func (b *rulebook) checkSteps(
	requests []StepRequest, kind *workKind, available []Step, withoutRamdisk, leaveOut bool,
) (steps []Step, problems []string) {
	count := map[string]int{}
	for _, request := range requests {
		if request.OnChildren { // each child has its own steps
			step := Step{Interface: request.Interface, Step: request.Step, Args: request.Args, Order: request.Order, Run: runOnChildren}
			step.OnChildren, step.Children = true, request.Children
			steps = append(steps, step)
			continue
		}
		step, err := b.runnable(Step{Interface: request.Interface, Step: request.Step, Args: request.Args, Order: request.Order}, available)
		switch {
		case err != nil && leaveOut:
			continue
		case err != nil:
			problems = append(problems, fmt.Sprintf("node does not support this %v step: %v", kind.work, request))
			continue
		}
		if request.Priority != nil {
			step.Priority = *request.Priority
		}
		if text := disallowedText(b.admission(), kind, step.String()); text != "" {
			problems = append(problems, text)
		}
		shown := request.String()
		if kind.agent.textsShowCompleted && !withoutRamdisk && !step.InBand && b.config.Table.Series() >= kind.agent.optionalSince {
			shown = step.checked(request) // Ironic has checked it before the boot of the agent
		}
		problems = append(problems, step.problems(shown, kind, withoutRamdisk)...)
		steps = append(steps, step)
		count[step.Interface+"."+step.Step]++
	}
	var twice []string
	for name, n := range count {
		if n > 1 && kind.steps.merges {
			twice = append(twice, name)
		}
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		problems = append(problems, "deploy steps from all deploy templates matching this node's instance traits cannot have the "+
			"same interface and step. Duplicate deploy steps for "+strings.Join(twice, ", "))
	}
	return steps, problems
}

// needsNoRamdisk reports whether the agent need not be booted for a cleaning or a service, since all requested steps
// run without a ramdisk. Unlike in Ironic, it is booted for the steps hold and wait, which only a heartbeat may end.
//
// Source: _validate_clean_steps_early in ironic/conductor/cleaning.py since 2026.1, do_node_service in servicing.py
// since 2025.2.
func (b *rulebook) needsNoRamdisk(n *Node, kind *workKind, available []Step) bool {
	if !kind.composed(n) {
		return false
	}
	requested := kind.of(n).Requested
	waits := func(r StepRequest) bool { return builtinSteps[r.Step] }
	if b.config.Table.Series() < kind.agent.optionalSince || len(requested) == 0 || slices.ContainsFunc(requested, waits) {
		return false
	}
	_, problems := b.checkSteps(requested, kind, available, true, false)
	return len(problems) == 0
}

// allowed returns a copy of the steps without those that the operator's configuration does not allow.
func (b *rulebook) allowed(kind *workKind, steps []Step) []Step {
	rules := b.admission()
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !rules.AllowsStep(kind.work, s.String()) })
}
