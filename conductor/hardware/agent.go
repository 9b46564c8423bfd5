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
func (t *Type) UsesAgent(n *conductor.Node, work states.Work) bool {
	node, err := t.node(n)
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
func (t *Type) StepsInBand(n *conductor.Node, kind string) bool {
	node, err := t.node(n)
	if err != nil {
		return false
	}
	for _, k := range t.interfaces.kinds(&node.Chosen) {
		if by, ok := k.chosen().(InBandStepper); ok && k.Name() == kind {
			return by.StepsInBand(node)
		}
	}
	return false
}

// WritesImage implements [conductor.AgentBooter].
func (t *Type) WritesImage(n *conductor.Node) bool {
	node, err := t.node(n)
	return err == nil && node.Chosen.Deploy.WritesImage()
}

// BootAgent implements [conductor.AgentBooter].
func (t *Type) BootAgent(ctx context.Context, task *conductor.Task) error {
	node, err := t.node(task.Node())
	if err != nil {
		return err
	}
	return bootAgent(ctx, Task{task, node.Chosen, node.config})
}

func bootAgent(ctx context.Context, t Task) error {
	return bootInto(ctx, t, func() error { return t.Chosen.Boot.PrepareRamdisk(ctx, t, nil) })
}

// CleanUpAgent implements [conductor.AgentBooter].
func (t *Type) CleanUpAgent(ctx context.Context, task *conductor.Task) error {
	return t.withoutImage(task, func(task Task) error { return task.Chosen.Boot.CleanUpRamdisk(ctx, task) })
}

// PrepareInstance implements [conductor.AgentBooter].
func (t *Type) PrepareInstance(ctx context.Context, task *conductor.Task) error {
	return t.withoutImage(task, func(task Task) error { return task.Chosen.Boot.PrepareInstance(ctx, task) })
}

// withoutImage withdraws the published image of the instance and calls f.
func (t *Type) withoutImage(task *conductor.Task, f func(Task) error) error {
	node, err := t.node(task.Node())
	if err != nil {
		return err
	}
	if err := t.config.withdraw(node, imageSuffix); err != nil {
		return err
	}
	return f(Task{task, node.Chosen, node.config})
}

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (t *Type) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	if err := t.made(); err != nil {
		return nil, err
	}
	if t.config.Images == nil {
		return bootimage.ConfigDrive(files, os.TempDir())
	}
	return bootimage.ConfigDrive(files, t.config.Images.Temporary()) // it is emptied at the next start
}
