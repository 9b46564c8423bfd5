// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"os"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/states"
)

// UsesAgent implements [conductor.AgentBooter]. With the deploy interface "ramdisk" the agent does the steps of cleaning
// and servicing if driver_info, or a default, names the ramdisk that the boot interface provides.
func (b *Type) UsesAgent(n *conductor.Node) bool {
	if b.usable(n) != nil {
		return false
	}
	switch b.chosen(n, "deploy") {
	case direct, customAgent:
		return true
	default:
		if !agentStates.Has(n.ProvisionState) {
			return false
		}
		switch boot := b.boot(n).(type) {
		case mediaBoot:
			_, err := boot.agentMedium(n)
			return err == nil
		case scriptBoot:
			m, err := boot.agentMedium(n)
			return err == nil && m.kernel != ""
		}
		return false
	}
}

// agentStates are the states in which also a node with the deploy interface "ramdisk" may use the agent.
var agentStates = states.SetOf(
	states.Cleaning, states.CleanWait, states.CleanHold, states.Servicing, states.ServiceWait, states.ServiceHold,
)

// BootAgent implements [conductor.AgentBooter].
func (b *Type) BootAgent(ctx context.Context, t *conductor.Task) error {
	return bootInto(ctx, t, func() error { return b.boot(t.Node()).prepareRamdisk(ctx, t, nil) })
}

// CleanUpAgent implements [conductor.AgentBooter].
func (b *Type) CleanUpAgent(ctx context.Context, t *conductor.Task) error {
	if err := b.config.withdrawImage(t.Node()); err != nil {
		return err
	}
	return b.boot(t.Node()).cleanUpRamdisk(ctx, t)
}

// PrepareInstance implements [conductor.AgentBooter].
func (b *Type) PrepareInstance(ctx context.Context, t *conductor.Task) error {
	if err := b.config.withdrawImage(t.Node()); err != nil {
		return err
	}
	return b.boot(t.Node()).prepareInstance(ctx, t)
}

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (b *Type) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	return bootimage.ConfigDrive(files, os.TempDir())
}

// agentRescue is the rescue interface "agent".
//
// Source: AgentRescue in ironic/drivers/modules/agent.py.
type agentRescue struct{ *Type }

func (b agentRescue) steps(work states.State) []conductor.Step {
	if work == states.Unrescuing {
		return []conductor.Step{{Interface: "rescue", Step: "unrescue", Priority: 100, Run: b.unrescue}}
	}
	return []conductor.Step{{Interface: "rescue", Step: "rescue", Priority: 100, Run: b.rescue}}
}

// rescue boots the agent, which waits for the rescue password.
func (b agentRescue) rescue(ctx context.Context, t *conductor.Task) error {
	boot := b.boot(t.Node())
	err := bootInto(ctx, t, func() error {
		if err := boot.cleanUpInstance(ctx, t); err != nil {
			return err
		}
		return boot.prepareRamdisk(ctx, t, nil)
	})
	if err != nil {
		return err
	}
	return conductor.ErrWait
}

// unrescue boots the instance again.
func (b agentRescue) unrescue(ctx context.Context, t *conductor.Task) error {
	boot := b.boot(t.Node())
	return bootInto(ctx, t, func() error {
		if err := boot.cleanUpRamdisk(ctx, t); err != nil {
			return err
		}
		return boot.prepareInstance(ctx, t)
	})
}
