// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
)

// The bits of the boot flags (IPMI 2.0, section 28.13, parameter 5).
const (
	bootValid      = 0x80 // of the first byte
	bootPersistent = 0x40
	bootUEFI       = 0x20
	bootSelector   = 0x3c // of the second byte
)

// bootFlagsAt is the index of the boot flags in the answer, after the version and the
// number of the parameter.
const bootFlagsAt = 2

// bootDevice ignores whether the flags are marked as valid, as Ironic does: some BMCs
// never mark them.
func (c *ipmiConnection) bootDevice(ctx context.Context) (device string, persistent bool, err error) {
	said, err := c.run(ctx, "raw", "0x00", "0x09", "0x05", "0x00", "0x00")
	if err != nil {
		return "", false, err
	}
	answer, err := hex.DecodeString(strings.Join(strings.Fields(said), ""))
	if err != nil || len(answer) < bootFlagsAt+2 {
		return "", false, garbled(fmt.Sprintf("ipmitool says %q, and no boot flags", said))
	}
	for _, b := range bootDevices {
		if answer[bootFlagsAt+1]&bootSelector == b.code {
			return b.word, answer[bootFlagsAt]&bootPersistent != 0, nil
		}
	}
	return "", false, nil
}

// setBootDevice sets the raw flags, because it depends on ipmitool's version which
// options of its own command for them work together.
//
// Source: set_boot_device in ironic/drivers/modules/ipmitool.py.
func (c *ipmiConnection) setBootDevice(ctx context.Context, device bootDevice, persistent bool) error {
	if !c.config.KeepBootTimeout {
		if _, err := c.run(ctx, "raw", "0x00", "0x08", "0x03", "0x08"); err != nil {
			return err
		}
	}
	flags := byte(bootValid)
	if persistent {
		flags |= bootPersistent
	}
	if c.config.BootMode != biosMode {
		flags |= bootUEFI
	}
	_, err := c.run(ctx, "raw", "0x00", "0x08", "0x05", fmt.Sprintf("%#02x", flags), fmt.Sprintf("%#02x", device.code), "0x00", "0x00", "0x00")
	return err
}
