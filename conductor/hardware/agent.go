// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"os"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

// UsesAgent implements [conductor.AgentBooter]. The deploy interface "ramdisk" does not use the agent, not
// even in a cleaning, unlike Ironic's.
func (b *BMC) UsesAgent(n *conductor.Node) bool {
	if b.usable(n) != nil {
		return false
	}
	deploy := b.chosen(n, "deploy")
	return deploy == direct || deploy == customAgent
}

// BootAgent implements [conductor.AgentBooter].
func (b *BMC) BootAgent(ctx context.Context, t *conductor.Task) error {
	return b.bootInto(ctx, t, func() error { return b.boot(t.Node()).prepareRamdisk(ctx, t, nil) })
}

// CleanUpAgent implements [conductor.AgentBooter].
func (b *BMC) CleanUpAgent(ctx context.Context, t *conductor.Task) error {
	return b.boot(t.Node()).cleanUpRamdisk(ctx, t)
}

// PrepareInstance implements [conductor.AgentBooter].
func (b *BMC) PrepareInstance(ctx context.Context, t *conductor.Task) error {
	return b.boot(t.Node()).prepareInstance(ctx, t)
}

// BuildConfigDrive implements [conductor.ConfigDriveBuilder].
func (b *BMC) BuildConfigDrive(_ context.Context, files map[string][]byte) ([]byte, error) {
	return bootimage.ConfigDrive(files, os.TempDir())
}
