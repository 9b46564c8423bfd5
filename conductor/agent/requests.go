// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ironstate/ironstate/internal/errtext"
)

// PartitionUUIDs identify the partitions of an image that an agent has written. The root of a whole-disk image is the
// identifier of the disk, such as 0x6f7cc4a8.
type PartitionUUIDs struct {
	Root string `json:"root uuid"`
	EFI  string `json:"efi system partition uuid"`
	PReP string `json:"PReP Boot partition uuid"`
}

// PartitionUUIDs asks for the partitions of the image that the agent has written.
func (c *Client) PartitionUUIDs(ctx context.Context) (p PartitionUUIDs, err error) {
	const method = "standby.get_partition_uuids"
	command, err := c.succeed(ctx, method, struct{}{}, true)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(command.Result, &p); err != nil {
		return p, c.invalidAnswer("The agent on node %s answers the command %s with an invalid result.", c.config.Node, method)
	}
	return PartitionUUIDs{errtext.Clean(p.Root), errtext.Clean(p.EFI), errtext.Clean(p.PReP)}, nil
}

// Bootloader are the parameters of [Client.InstallBootloader]. Empty texts are sent as null.
type Bootloader struct {
	PartitionUUIDs
	BootMode string // "bios" or "uefi"
	// SoftwareRAID says that the image is on a software RAID. The parameters are the same.
	SoftwareRAID bool
}

// InstallBootloader installs a boot loader on the image that the agent has written, and waits until it is done. An
// agent that does not know the boot mode is asked again without it, but not for UEFI on a software RAID: it would
// install the boot loader of BIOS.
//
// Source: install_bootloader in ironic/drivers/modules/agent_client.py.
func (c *Client) InstallBootloader(ctx context.Context, b Bootloader) error {
	const method = "image.install_bootloader"
	params := map[string]any{"root_uuid": orNull(b.Root), "efi_system_part_uuid": orNull(b.EFI),
		"prep_boot_part_uuid": orNull(b.PReP), "target_boot_mode": orNull(b.BootMode)}
	command, err := c.poll(ctx, method, params)
	if errors.Is(err, ErrRefused) && !(b.SoftwareRAID && b.BootMode == "uefi") {
		delete(params, "target_boot_mode")
		command, err = c.poll(ctx, method, params)
	}
	if err != nil {
		return err
	}
	return c.failed(method, command)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// PowerOff tells the agent to power its machine off. It does not wait until the machine is off.
func (c *Client) PowerOff(ctx context.Context) error {
	_, err := c.send(ctx, "standby.power_off", struct{}{}, false)
	return err
}

// Sync writes the caches of the agent's file systems to the disks.
func (c *Client) Sync(ctx context.Context) error {
	_, err := c.succeed(ctx, "standby.sync", struct{}{}, true)
	return err
}

// FinalizeRescue sets the password of the ramdisk's user and ends the agent. The password is a hash as in a shadow
// file.
func (c *Client) FinalizeRescue(ctx context.Context, hash string) error {
	_, err := c.succeed(ctx, "rescue.finalize_rescue", map[string]any{"rescue_password": hash, "hashed": true}, false)
	return err
}
