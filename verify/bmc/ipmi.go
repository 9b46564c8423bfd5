// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/ipmitool"
)

// ipmiConnection is IPMI over LAN with the program ipmitool, which logs in and out for each command.
type ipmiConnection struct {
	config Config
	scrub  *failure.Scrubber
	tool   *ipmitool.Tool
}

func newIPMI(c Config) *ipmiConnection {
	return &ipmiConnection{
		config: c,
		scrub:  failure.NewScrubber(c.User, c.Password),
		tool: &ipmitool.Tool{
			Host: c.Host, Port: c.IPMIPort, User: c.User, Password: c.Password, CipherSuite: c.CipherSuite, ProbeWait: probeWait,
		},
	}
}

func (c *ipmiConnection) protocol() string { return ipmiProtocol }

func (c *ipmiConnection) address() string { return c.tool.Address() }

func (c *ipmiConnection) begin() {}

func (c *ipmiConnection) expires() bool { return false }

func (c *ipmiConnection) temporary() bool { return false }
func (c *ipmiConnection) refused() bool   { return false }

func (c *ipmiConnection) close(context.Context) {}

func (c *ipmiConnection) scrubber() *failure.Scrubber { return c.scrub }

func (c *ipmiConnection) open(ctx context.Context) error {
	if err := c.config.checkIPMI(); err != nil { // "auto" permits credentials that only Redfish has room for
		return failure.New(verify.Misconfigured, err)
	}
	return c.tool.Open(ctx)
}

// checkManagement has nothing to check: the boot device is in the same set of IPMI chassis commands as the power state.
func (c *ipmiConnection) checkManagement(context.Context) error { return nil }

func (c *ipmiConnection) powerState(ctx context.Context) (string, error) {
	return c.tool.PowerState(ctx)
}

// setPower requests a power state if the machine is in another one.
func (c *ipmiConnection) setPower(ctx context.Context, kind reset) (sent bool, err error) {
	if kind == resetSoftReboot {
		return false, failure.Unsupportedf("IPMI has no soft reboot")
	}
	now, err := c.tool.PowerState(ctx)
	if err != nil {
		return false, err
	}
	if now == string(kind) || now == "off" && kind == resetSoft {
		return false, nil
	}
	said, err := c.tool.Run(ctx, "chassis", "power", string(kind))
	if err == nil && !strings.HasPrefix(said, "Chassis Power Control: ") {
		err = failure.Protocolf("ipmitool says %q, and not that the power is set", said)
	}
	return true, err
}

// The bits of the boot flags (IPMI 2.0, section 28.13, parameter 5).
const (
	bootValid      = 0x80 // of the first byte
	bootPersistent = 0x40
	bootUEFI       = 0x20
	bootSelector   = 0x3c // of the second byte
)

// bootFlagsAt is the index of the boot flags in the answer, after the version and the number of the parameter.
const bootFlagsAt = 2

// The boot device selectors of the disk: of the specification, and of machines of Supermicro in UEFI mode, to which the
// other one means nothing. In the specification this one is the primary remote medium.
const (
	diskSelector       = 0x08
	supermicroSelector = 0x24
)

// selector returns the boot device selector of a device.
//
// Source: _vendor_aware_boot_device_map in ironic/drivers/modules/ipmitool.py; ipmitool has Supermicro's two names.
func (c *ipmiConnection) selector(device bootDevice) byte {
	made := strings.ToLower(c.config.Vendor)
	named := func(name string) bool { return strings.HasPrefix(made, name) }
	if device.code == diskSelector && c.config.BootMode != biosMode && (named("supermicro") || named("super micro")) {
		return supermicroSelector
	}
	return device.code
}

// manufacturerLine finds the manufacturer in the output of ipmitool.
var manufacturerLine = regexp.MustCompile(`(?m)^Manufacturer Name *: (.+)$`)

// Source: detect_vendor in ironic/drivers/modules/ipmitool.py.
func (c *ipmiConnection) vendor(ctx context.Context) (firmware, machine string, err error) {
	said, err := c.tool.Run(ctx, "mc", "info")
	if found := manufacturerLine.FindStringSubmatch(said); found != nil {
		machine = strings.ToLower(strings.TrimSpace(found[1]))
	}
	return "", machine, err
}

// bootDevice ignores whether the flags are marked as valid, as Ironic does: some BMCs never mark them.
func (c *ipmiConnection) bootDevice(ctx context.Context) (device string, persistent bool, err error) {
	said, err := c.tool.Run(ctx, "raw", "0x00", "0x09", "0x05", "0x00", "0x00")
	if err != nil {
		return "", false, err
	}
	answer, err := hex.DecodeString(strings.Join(strings.Fields(said), ""))
	if err != nil || len(answer) < bootFlagsAt+2 {
		return "", false, failure.Protocolf("ipmitool says %q, and no boot flags", said)
	}
	selector := answer[bootFlagsAt+1] & bootSelector
	for _, b := range bootDevices {
		if b.code != 0 && (selector == b.code || selector == c.selector(b)) {
			return b.word, answer[bootFlagsAt]&bootPersistent != 0, nil
		}
	}
	return "", false, nil
}

// setBootDevice sets the raw flags, because it depends on ipmitool's version which
// options of its own command for them work together.
//
// Source: set_boot_device in ironic/drivers/modules/ipmitool.py.
func (c *ipmiConnection) setBootDevice(ctx context.Context, device bootDevice, persistent bool) (kept bool, err error) {
	if device.code == 0 {
		return false, failure.Unsupportedf("IPMI has no boot device %q", device.word)
	}
	if !c.config.KeepBootTimeout {
		if _, err := c.tool.Run(ctx, "raw", "0x00", "0x08", "0x03", "0x08"); err != nil {
			return false, err
		}
	}
	flags := byte(bootValid)
	if persistent {
		flags |= bootPersistent
	}
	if c.config.BootMode != biosMode {
		flags |= bootUEFI
	}
	_, err = c.tool.Run(ctx, "raw", "0x00", "0x08", "0x05", fmt.Sprintf("%#02x", flags), fmt.Sprintf("%#02x", c.selector(device)),
		"0x00", "0x00", "0x00")
	return persistent, err
}
