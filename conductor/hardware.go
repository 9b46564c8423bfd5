package conductor

import (
	"context"
	"errors"

	"github.com/ironstate/ironstate/states"
)

// Hardware is a hardware type: how the nodes whose driver has its name are managed.
// Its methods are called from many goroutines at once, for one node one after the
// other. Errors must hold no secret: they become last errors and answers. A call
// that panics has failed.
//
// A Hardware may have more abilities: see [Preparer], [BootDevicer] and [VendorPassthru].
// Package hardware, below, has those for BMCs, and [Fake] is Ironic's fake-hardware.
type Hardware interface {
	// Describe tells about the hardware type itself.
	Describe() Description

	// Validate checks the node's record, without asking the hardware. It returns, by
	// the kind of hardware interface ("power", "deploy"), nil where all is well and
	// the reason where not. A kind that the hardware type does not have is left out.
	Validate(n *Node) map[string]error

	// Verify asks the hardware whether the node can be managed, and returns the power
	// state, NoPower where hardware has none.
	Verify(ctx context.Context, n *Node) (states.Power, error)

	// PowerState reads the power state: PowerOn, PowerOff, or PowerError where the
	// hardware answered without one.
	PowerState(ctx context.Context, n *Node) (states.Power, error)

	// SetPower asks the hardware for a power state and returns once it has taken the
	// request. An error that matches [errors.ErrUnsupported] says that there is no
	// such request.
	SetPower(ctx context.Context, n *Node, power states.Power) error

	// Steps returns the steps that the hardware type has for the work of a state:
	// Inspecting, Cleaning, Deploying, Deleting, Rescuing, Unrescuing, Servicing or
	// Adopting. Those with a priority run by themselves, the highest first. In
	// Cleaning and Servicing a client may name any of them.
	Steps(n *Node, work states.State) []Step
}

// Description tells about a hardware type.
type Description struct {
	// Interfaces are the hardware interfaces that may be chosen, by kind ("power"),
	// the default first.
	Interfaces map[string][]string
	// Properties are the keys of driver_info, with what each means.
	Properties map[string]string
}

// Step is a piece of work on a node.
//
// Source: ironic/conductor/steps.py.
type Step struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	// Args are the arguments that a client names, as JSON has them; numbers are
	// [json.Number].
	Args map[string]any `json:"args,omitzero"`
	// ArgsInfo are the arguments that a client may name; with others the step is refused.
	ArgsInfo map[string]StepArgument `json:"argsinfo,omitzero"`
	// Priority orders the steps of automated work; 0 runs only where a client names
	// the step.
	Priority int `json:"priority"`
	// Abortable says that an abort may end the step while it waits.
	Abortable bool `json:"abortable,omitzero"`

	// Run does the step. It returns nil when the step is done, [ErrWait] when the
	// hardware goes on by itself until a call-back, and any other error when the step
	// has failed. The context ends when the conductor gives the work up.
	Run func(ctx context.Context, t *Task) error `json:"-"`

	named bool // by a client
}

// StepArgument describes an argument of a [Step].
type StepArgument struct {
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"` // of a client that names the step
}

// ErrWait is what a [Step] returns whose work goes on outside of the conductor. The
// node then waits ("clean wait", "wait call-back", ...), without a reservation, until
// a heartbeat of its agent or [Conductor.Resume] goes on with the next step, or until
// the time is over.
var ErrWait = errors.New("the step waits for a call-back")

// Preparer is a [Hardware] that prepares a node before the steps of its cleaning or
// service run: it boots an agent, for example.
//
// Source: prepare_cleaning and prepare_service in ironic/drivers/base.py.
type Preparer interface {
	// Prepare prepares a node for the steps of work, which is Cleaning or Servicing. It
	// returns nil when they can run, [ErrWait] when they can once the agent calls back,
	// and any other error when the work has failed. It is not called for work without
	// a ramdisk.
	Prepare(ctx context.Context, t *Task, work states.State) error
}

// BootDevicer is a [Hardware] that knows the boot device.
//
// Source: ironic/common/boot_devices.py, for the names of devices: pxe, disk, cdrom.
type BootDevicer interface {
	// BootDevices returns the devices that can be set.
	BootDevices(ctx context.Context, n *Node) ([]string, error)
	// BootDevice reads the device that the node boots from next.
	BootDevice(ctx context.Context, n *Node) (device string, persistent bool, err error)
	// SetBootDevice sets the device that the node boots from next, or from now on.
	SetBootDevice(ctx context.Context, n *Node, device string, persistent bool) error
}

// VendorPassthru is a [Hardware] with methods of its own, which clients call by name.
type VendorPassthru interface {
	// VendorMethods returns the methods by name.
	VendorMethods() map[string]VendorMethod
	// CallVendor calls one of them; for one that is async the answer is nil.
	CallVendor(ctx context.Context, n *Node, method string, args map[string]any) (answer any, err error)
}

// VendorMethod describes a method of a [VendorPassthru].
type VendorMethod struct {
	HTTPMethods []string `json:"http_methods"`
	Async       bool     `json:"async"`
	Description string   `json:"description"`
	Attach      bool     `json:"attach"`
	Exclusive   bool     `json:"require_exclusive_lock"`
}
