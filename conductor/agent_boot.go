// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"

	"github.com/ironstate/ironstate/states"
)

// AgentBooter is a [Hardware] whose machines can boot Ironic's agent. For a node that uses the agent, the conductor
// boots it before the steps of a cleaning or a service and in a deployment, and again after a step that requires a
// reboot. With each of its heartbeats the conductor asks the agent for its commands, and sends it the next step.
//
// Source: BootInterface in ironic/drivers/base.py.
type AgentBooter interface {
	// UsesAgent reports whether the agent does work on the node: an inspection, a cleaning, a deployment, a rescue or a
	// service. A deployment then has the steps of Ironic's deploy interface "custom-agent".
	UsesAgent(n *Node, work states.Work) bool
	// WritesImage reports whether the agent writes the image of an instance. A deployment then has the step write_image
	// of Ironic's deploy interface "direct" as well.
	WritesImage(n *Node) bool
	// BootAgent boots the task's machine into the agent's ramdisk. It returns when the machine is on.
	BootAgent(ctx context.Context, t *Task) error
	// CleanUpAgent removes what BootAgent has provided, such as virtual media, and the image of [ImageServer]. It may
	// power the machine off first, except in the state RescueWait: the ramdisk of a rescue, which is in memory, runs on.
	CleanUpAgent(ctx context.Context, t *Task) error
	// PrepareInstance makes the machine boot its disk from now on. It does not change the power state.
	PrepareInstance(ctx context.Context, t *Task) error
}

// InBandStepper is an [AgentBooter] with hardware interfaces whose steps the agent executes, such as Ironic's RAID
// interface "agent". For any other, the agent's steps in a cleaning and a deployment are the deploy interface's.
//
// Source: get_clean_steps and get_deploy_steps in ironic/drivers/modules/agent.py.
type InBandStepper interface {
	// StepsInBand reports whether the agent's steps of a kind of hardware interfaces such as "raid" are steps of the
	// interface that the node has. It is not asked about the deploy interface, of which the agent's always are, nor in a
	// service, which may have all steps of the agent.
	StepsInBand(n *Node, kind string) bool
}

// ConfigDriveBuilder is a [Hardware] that makes the image of a configuration drive from the JSON that a client sends.
// With any other hardware, a client must send the image itself.
type ConfigDriveBuilder interface {
	// BuildConfigDrive returns an image with the volume label config-2 and these files, by their paths.
	BuildConfigDrive(ctx context.Context, files map[string][]byte) ([]byte, error)
}

// agentBooter returns a node's hardware type if the agent does the work, nil if not. Work that cannot wait for the
// agent does not use it. It is called within a bounded call, since the hardware type may panic or hang.
func agentBooter(hardware Hardware, n *Node, work states.Work) AgentBooter {
	booter, ok := hardware.(AgentBooter)
	if ok && work.Waiting() != states.NoState && booter.UsesAgent(n, work) {
		return booter
	}
	return nil
}

// usesAgent reports whether the agent does the work on a node.
func (ts *hardwareTypes) usesAgent(ctx context.Context, hardware Hardware, n *Node, work states.Work) (bool, error) {
	return askHardware(ctx, ts, n, "its use of the agent", func() bool { return agentBooter(hardware, n, work) != nil })
}

// What the calls of an AgentBooter are for, as callHardware names them.
const (
	toBoot    = "to boot the agent"
	toCleanUp = "to clean up"
)

// agentUse is how a hardware type uses the agent for the work on a node.
type agentUse struct {
	executes    bool // the agent executes steps
	writesImage bool
	available   []Step // if a client or a runbook has composed the steps, which may need no agent
}

// agentUse returns the answers of a hardware type. It is called within askHardware.
func (ts *hardwareTypes) agentUse(hardware Hardware, n *Node, kind *workKind) (use agentUse) {
	booter := agentBooter(hardware, n, kind.work)
	if use.executes = kind.agent.word != "" && booter != nil; !use.executes {
		return use
	}
	use.writesImage = kind.bootsInStep() && booter.WritesImage(n)
	if kind.composed(n) {
		use.available = ts.listSteps(hardware, n, kind.work)
	}
	return use
}

// booter is agentBooter for the work of the task's node, which uses the agent: it is an error if the hardware type does
// not say so any more.
func (t *Task) booter(ctx context.Context) (AgentBooter, error) {
	n := t.Node()
	work := n.ProvisionState.Work()
	booter, err := askHardware(ctx, t.engine.types, n, "its use of the agent", func() AgentBooter { return agentBooter(t.hardware, n, work) })
	if err == nil && booter == nil {
		err = &HardwareError{fmt.Errorf("the hardware type does not use the agent any more for the work %s", work)}
	}
	return booter, err
}

// withBooter calls a method of the node's hardware type that does the task's work with the agent.
func (t *Task) withBooter(ctx context.Context, do func(AgentBooter, context.Context, *Task) error) error {
	booter, err := t.booter(ctx)
	if err != nil {
		return err
	}
	return do(booter, ctx, t)
}

// callBooter is withBooter for calls that no step makes. It abandons a call that still hangs after its context has
// ended. Until that call returns, the node's later calls for the same purpose fail. The argument what is the text of
// the purpose.
func (t *Task) callBooter(ctx context.Context, what string, do func(AgentBooter, context.Context, *Task) error) error {
	return t.withBooter(ctx, func(booter AgentBooter, ctx context.Context, t *Task) error {
		return t.engine.types.call(ctx, t.Node(), what, func(ctx context.Context) error { return do(booter, ctx, t) })
	})
}

// endAgent powers the machine off whose cleaning or service an agent has done. After a service it starts the instance
// again. With disable_power_off the machine is rebooted. By fast track the agent stays after a cleaning. endAgent
// reports whether the tear-down was begun.
func (t *Task) endAgent(ctx context.Context, kind *workKind) (begun bool, err error) {
	t.record.updateLater(func(n *Node) { kind.ensureSteps(n).Current = nil })
	_, err = t.booter(ctx)
	switch {
	case err == nil && t.KeepsAgent():
		return false, nil
	case err == nil:
		begun = true
		err = t.tearDownRamdisk(ctx, CleanUp{PowerOff: true, Ramdisk: true, Instance: kind.end.bootsInstance})
	}
	if err != nil && ctx.Err() == nil {
		//lint:ignore ST1005 the text is Ironic's, in conductor/cleaning.py and servicing.py
		err = fmt.Errorf("Failed to tear down from %s for node %s, reason: %w", kind.texts.noun, t.Node().UUID, err)
	}
	return begun, err
}
