// SPDX-License-Identifier: Apache-2.0

package hardware

import "context"

// PXE returns the boot interface "pxe". It sets the boot device; another service provides DHCP, TFTP and the boot
// files.
func PXE() Boot { return networkBoot{} }

type networkBoot struct{}

func (networkBoot) Name() string { return "pxe" }
func (networkBoot) Properties() map[string]string {
	return map[string]string{persistenceKey: persistenceText}
}
func (networkBoot) Validate(n Node) error { return info{n.Node}.checkUnused(usedByNetwork) }
func (networkBoot) Serves(Node) bool      { return false }

func (b networkBoot) ServesAgent(n Node) (bool, error) { return false, b.Validate(n) }

func (b networkBoot) PrepareRamdisk(ctx context.Context, t Task, _ map[string]string) error {
	if err := b.Validate(t.Node()); err != nil {
		return err
	}
	return bootFrom(ctx, t, "pxe", false)
}

func (networkBoot) CleanUpRamdisk(context.Context, Task) error { return nil }

// PrepareInstance sets the disk as the boot device, or the network for an instance that is a ramdisk.
func (networkBoot) PrepareInstance(ctx context.Context, t Task) error {
	if err := secureBoot(ctx, t, true); err != nil {
		return err
	}
	if t.Chosen.Deploy.BootsRamdisk() {
		return bootFrom(ctx, t, "pxe", true)
	}
	return bootDisk(ctx, t)
}

func (networkBoot) CleanUpInstance(ctx context.Context, t Task) error {
	return secureBoot(ctx, t, false)
}
