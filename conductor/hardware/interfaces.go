// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// Interface has the methods that the hardware interfaces of all kinds have in common. They are called
// by many goroutines at the same time. Its errors must not contain secrets: they are stored in last_error and returned
// to clients.
//
// An Interface may have the further method
//
//	Close(ctx context.Context) error
//
// which [Type.Close] calls, and it may be a [Stepper] and an [InBandStepper]. Each kind has abilities of its own beside
// these:
//
//   - a [Power] may be a [Verifier] and a [conductor.PowerLimiter];
//   - a [Management] may be an [NMIInjector], a [BootModeSetter], a [MediaManager], a [VendorReader], a [MACReader], a
//     [BootModeReader], a [BootDeviceRestorer], a [BootModeKeeper] and a [conductor.HealthReader];
//   - a [Boot] may be a [PortNeeder] and a [MediaUser];
//   - an inspect or a rescue interface may be an [AgentUser];
//   - a BIOS interface may be a [BIOSReader], and a firmware interface a [FirmwareReader];
//   - a vendor interface may be a [conductor.VendorPassthru].
//
// Each request to the hardware that changes the machine needs the permission of the call's context, see
// [conductor.Permit].
type Interface interface {
	// Name is the name by which nodes choose the interface, such as "redfish". It is constant.
	Name() string
	// Properties maps each key of driver_info that the interface reads to its description. Interfaces of one hardware type
	// may share keys.
	Properties() map[string]string
	// Validate checks the record of a node without access to the hardware. The error is a [*conductor.Error].
	Validate(n Node) error
}

// Stepper is an [Interface] with steps.
type Stepper interface {
	// Steps returns the steps of the interface for work, as [conductor.Hardware] has them. The hardware
	// type sets the interface of each.
	Steps(n Node, work states.Work) []conductor.Step
}

// InBandStepper is an [Interface] with steps that the agent executes.
type InBandStepper interface {
	// StepsInBand reports whether the agent's steps of the interface's kind are the node's in cleanings and deployments,
	// see [conductor.InBandStepper].
	StepsInBand(n Node) bool
}

// Power is a power interface.
type Power interface {
	Interface
	// PowerState and SetPower are the methods of [conductor.Hardware].
	PowerState(ctx context.Context, n *conductor.Node) (states.Power, error)
	SetPower(ctx context.Context, n *conductor.Node, power states.Power) error
}

// Verifier is a [Power] whose verification is not a call of PowerState.
type Verifier interface {
	// Verify is the method of [conductor.Hardware].
	Verify(ctx context.Context, n *conductor.Node) (states.Power, error)
}

// Management is a management interface. Its SetBootDevice refuses a device that BootDevices does not return.
type Management interface {
	Interface
	conductor.BootDeviceManager
}

// NMIInjector is a [Management] that sends machines a non-maskable interrupt.
type NMIInjector interface {
	InjectNMI(ctx context.Context, n *conductor.Node) error
}

// BootModeSetter is a [Management] that sets how machines boot, as [conductor.Management] does. Only with one can an
// instance have the capability secure_boot.
type BootModeSetter interface {
	SetBootMode(ctx context.Context, n *conductor.Node, mode string) error
	SetSecureBoot(ctx context.Context, n *conductor.Node, enabled bool) error
}

// MediaManager is a [Management] with virtual media, as [conductor.Management] has them. The boot interface
// [VirtualMedia] uses the slot for the device "cdrom", whatever the node's management interface is. It decides by the
// [verify.Kind] that an error matches, and takes an error without one for [verify.Failed].
type MediaManager interface {
	// VirtualMedia reads the slots. After an insertion the boot interface reads them until one for CDs has the image,
	// for Config.MediaTimeout at most. It reads them again after an error, unless that matches [verify.TLS],
	// [verify.Misconfigured] or [verify.Panicked], or is a refused log-in, see [verify.LoginRefused].
	VirtualMedia(ctx context.Context, n *conductor.Node) ([]conductor.VirtualMedia, error)
	// AttachVirtualMedia inserts the image, and may return before the BMC has loaded it. The image may be in the slot
	// after an error, as when an answer is lost: the boot interface then ejects it. It does not if the error says that
	// nothing was inserted: if it matches [conductor.Invalid], [conductor.Unsupported], [verify.Misconfigured],
	// [verify.Unreachable], [verify.TLS], [verify.Credentials] or [verify.Unsupported].
	AttachVirtualMedia(ctx context.Context, n *conductor.Node, device, image string) error
	// DetachVirtualMedia ejects images. An empty slot is no error. An error that matches [ErrMediaKept] fails no work by
	// itself, and any other does, except before an insertion: it goes on after [verify.Unsupported] and [verify.Protocol]
	// too, since the BMC has answered.
	DetachVirtualMedia(ctx context.Context, n *conductor.Node, devices []string) error
}

// BootDeviceRestorer is a [Management] that sets a boot device again before each start of a machine whose BMC does not
// keep it. Its SetBootDevice notes the device in driver_internal_info.
type BootDeviceRestorer interface {
	// RestoreBootDevice sets the device. The machine starts also if that fails: an error is about a refused password,
	// which the start would send again.
	RestoreBootDevice(ctx context.Context, n *conductor.Node) error
	// ForgetBootDevice removes the device from driver_internal_info: the machine shall boot by its own order.
	ForgetBootDevice(n *conductor.Node)
}

// BootModeKeeper is a [Management] of BMCs that may change the boot mode beside the boot device: the error of
// SetBootDevice then matches [ErrBootMode].
type BootModeKeeper interface {
	// KeepBootMode sets the node's boot mode again in a step, without a reboot. It returns the error of SetBootDevice if
	// the mode remains another one, or is none of the node's.
	KeepBootMode(ctx context.Context, n *conductor.Node, changed error) error
}

// VendorReader is a [Management] that reads who made a machine, as a [conductor.CacheReader] does.
type VendorReader interface {
	ReadVendor(ctx context.Context, n *conductor.Node) (firmware, machine string, err error)
}

// BootModeReader is a [Management] that reads how a machine boots, as a [conductor.CacheReader] does.
type BootModeReader interface {
	ReadBootMode(ctx context.Context, n *conductor.Node) (mode string, secureBoot *bool, err error)
}

// MACReader is a [Management] that reads the MAC addresses of a machine's enabled network interfaces, for the ports of
// a node that its agent inspects.
type MACReader interface {
	ReadMACs(ctx context.Context, n *conductor.Node) ([]string, error)
}

// BIOSReader is a BIOS interface that reads the settings, as a [conductor.CacheReader] does.
type BIOSReader interface {
	ReadBIOS(ctx context.Context, n *conductor.Node) ([]conductor.BIOSSetting, error)
}

// FirmwareReader is a firmware interface that reads the versions, as a [conductor.CacheReader] does.
type FirmwareReader interface {
	ReadFirmware(ctx context.Context, n *conductor.Node) ([]conductor.FirmwareComponent, error)
}

// Boot is a boot interface: it makes a machine boot a ramdisk or its instance. None of its methods switches the machine
// on.
//
// Source: BootInterface in ironic/drivers/base.py.
type Boot interface {
	Interface
	// Serves reports whether the interface can provide the boot files. Otherwise another service does.
	Serves(n Node) bool
	// ServesAgent reports whether the interface provides the agent's ramdisk to the node. The error says why it cannot,
	// although the node or the configuration asks for it.
	ServesAgent(n Node) (bool, error)
	// PrepareRamdisk makes the machine boot the agent's ramdisk at its next start, with these kernel parameters and the
	// interface's own. It may power the machine off, unless the node has disable_power_off.
	PrepareRamdisk(ctx context.Context, t Task, parameters map[string]string) error
	// CleanUpRamdisk removes what PrepareRamdisk has provided.
	CleanUpRamdisk(ctx context.Context, t Task) error
	// PrepareInstance makes the machine boot its instance from now on.
	PrepareInstance(ctx context.Context, t Task) error
	// CleanUpInstance removes what PrepareInstance has provided.
	CleanUpInstance(ctx context.Context, t Task) error
}

// PortNeeder is a [Boot] that may need a port of the node.
type PortNeeder interface {
	// NeedsPort reports whether the node is invalid without a port.
	NeedsPort(n Node) bool
}

// MediaUser is a [Boot] by whose virtual CD a machine may run.
type MediaUser interface {
	// UsesMedia reports whether the machine boots or runs from the CD now, so that a client may not change it.
	UsesMedia(n Node) bool
}

// AgentUser is a [Deploy], or an inspect or a rescue interface, whose work the agent may do.
type AgentUser interface {
	// UsesAgent reports whether the agent does the work, see [conductor.AgentBooter].
	UsesAgent(n Node, work states.Work) bool
}

// Deploy is a deploy interface. Where it uses the agent, the conductor has the steps of a deployment.
type Deploy interface {
	Interface
	Stepper
	AgentUser
	// WritesImage reports whether the agent writes the image of an instance, see [conductor.AgentBooter].
	WritesImage() bool
	// BootsRamdisk reports whether an instance is a ramdisk, which the boot interface boots, and not on the machine's
	// disk.
	BootsRamdisk() bool
}

// Interfaces lists the interfaces of a hardware type by their kinds. The first of a kind is the default. Power and
// Management are required. [New] fills in the other kinds that are empty, as the fields say. [Redfish], [IPMI] and
// [BMCLib] return the lists of their hardware types.
type Interfaces struct {
	Power      []Power
	Management []Management
	Boot       []Boot      // [IPXE], [PXE]
	Deploy     []Deploy    // [Direct], [Ramdisk], [CustomAgent]
	Inspect    []Interface // [AgentInspect], no-inspect
	BIOS       []Interface // no-bios
	RAID       []Interface // no-raid, [AgentRAID]
	Rescue     []Interface // no-rescue, [AgentRescue]
	Vendor     []Interface // no-vendor
	Firmware   []Interface // no-firmware
}

// Chosen has the interface of each kind that a node has chosen, or the default.
type Chosen struct {
	Power      Power
	Management Management
	Boot       Boot
	Deploy     Deploy
	Inspect    Interface
	BIOS       Interface
	RAID       Interface
	Rescue     Interface
	Vendor     Interface
	Firmware   Interface
}

// Node is the record of a node and the interfaces that it has chosen. Do not change the record. An interface that needs
// one for another record copies the Node and sets its record: one that is built of parts has no [Config].
type Node struct {
	*conductor.Node
	Chosen Chosen
	config *Config // of the hardware type
}

// Task is work on a node and the interfaces that the node has chosen. [Node.Run] makes it.
type Task struct {
	*conductor.Task
	Chosen Chosen
	config *Config // of the hardware type
}

// Node returns the node as of the task's last write.
func (t Task) Node() Node { return Node{t.Task.Node(), t.Chosen, t.config} }

// Run returns the function of a [conductor.Step] that uses the chosen interfaces.
func (n Node) Run(do func(ctx context.Context, t Task) error) func(context.Context, *conductor.Task) error {
	return func(ctx context.Context, t *conductor.Task) error { return do(ctx, Task{t, n.Chosen, n.config}) }
}
