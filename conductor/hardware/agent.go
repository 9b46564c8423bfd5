// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"os"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/states"
)

// UsesAgent implements [conductor.AgentBooter].
func (b *Type) UsesAgent(n *conductor.Node, work states.Work) bool {
	node, err := b.node(n)
	if err != nil {
		return false
	}
	var chosen Interface = node.Chosen.Deploy
	switch work {
	case states.WorkInspect:
		chosen = node.Chosen.Inspect
	case states.WorkRescue:
		chosen = node.Chosen.Rescue
	}
	user, ok := chosen.(AgentUser)
	return ok && user.UsesAgent(node, work)
}

// StepsInBand implements [conductor.InBandStepper].
func (b *Type) StepsInBand(n *conductor.Node, kind string) bool {
	node, err := b.node(n)
	if err != nil {
		return false
	}
	for _, k := range b.interfaces.kinds(&node.Chosen) {
		if by, ok := k.chosen().(InBandStepper); ok && k.Name() == kind {
			return by.StepsInBand(node)
		}
	}
	return false
}

// WritesImage implements [conductor.AgentBooter].
func (b *Type) WritesImage(n *conductor.Node) bool {
	node, err := b.node(n)
	return err == nil && node.Chosen.Deploy.WritesImage()
}

// BootAgent implements [conductor.AgentBooter].
func (b *Type) BootAgent(ctx context.Context, t *conductor.Task) error {
	node, err := b.node(t.Node())
	if err != nil {
		return err
	}
	return bootAgent(ctx, Task{t, node.Chosen})
}

func bootAgent(ctx context.Context, t Task) error {
	return bootInto(ctx, t, func() error { return t.Chosen.Boot.PrepareRamdisk(ctx, t, nil) })
}

// CleanUpAgent implements [conductor.AgentBooter].
func (b *Type) CleanUpAgent(ctx context.Context, t *conductor.Task) error {
	return b.withoutImage(t, func(t Task) error { return t.Chosen.Boot.CleanUpRamdisk(ctx, t) })
}

// PrepareInstance implements [conductor.AgentBooter].
func (b *Type) PrepareInstance(ctx context.Context, t *conductor.Task) error {
	return b.withoutImage(t, func(t Task) error { return t.Chosen.Boot.PrepareInstance(ctx, t) })
}

// withoutImage withdraws the published image of the instance and calls f.
func (b *Type) withoutImage(t *conductor.Task, f func(Task) error) error {
	node, err := b.node(t.Node())
	if err != nil {
		return err
	}
	if err := b.config.withdraw(node, imageSuffix); err != nil {
		return err
	}
	return f(Task{t, node.Chosen})
}

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (b *Type) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	if err := b.made(); err != nil {
		return nil, err
	}
	if b.config.Images == nil {
		return bootimage.ConfigDrive(files, os.TempDir())
	}
	return bootimage.ConfigDrive(files, b.config.Images.Temporary()) // it is emptied at the next start
}
