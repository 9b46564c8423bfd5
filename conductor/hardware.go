// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/ironstate/ironstate/internal/abandoned"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// Hardware is a hardware type: it manages the nodes whose Driver is its name in
// [Config.Hardware]. Its methods are called by many goroutines at the same time; the
// operations of work on one node do not overlap. Errors must not contain secrets: they are
// stored in last_error and returned to clients.
//
// A call that panics has failed: it fails its work or its request. So has a call that does not return within two
// seconds after its context has ended, or a method without a context that does not return within seven seconds; the
// conductor abandons it, and does not repeat it for the node before it has returned. A method without a context reads
// the node's record, and sends nothing to the hardware.
//
// Each operation must use the context that its method or its [Step] was given, or one derived from
// it: it ends with the conductor's membership, and [Permit] reads from it whether a request may still
// be sent.
//
// A Hardware may also implement [AgentBooter], [CacheReader], [HealthReader], [BootDeviceManager], [Management],
// [ConfigDriveBuilder], [FilePublisher], [ImageServer], [InBandStepper], [IndicatorReader], [PortNeeder],
// [PowerLimiter], [ReadSharer] and [VendorPassthru]. Package hardware, below, has hardware types for BMCs, and [Fake]
// is Ironic's fake-hardware. Package hardwaretest checks a Hardware.
type Hardware interface {
	// Describe returns the supported hardware interfaces and the properties in driver_info. The conductor calls it once.
	Describe() Description

	// Validate checks the node's record without access to the hardware. The map has an
	// entry for each kind of hardware interface ("power", "deploy") that the hardware type
	// has: nil if the record is valid, or else the reason.
	Validate(n *Node) map[string]error

	// Verify checks on the hardware that the node can be managed, and returns the power
	// state. The conductor calls it after the power interface alone was found valid, as
	// Ironic does; a hardware type that also checks its management interface, as the enroll
	// specification demands, does it here. The verification fails unless that is PowerOn or PowerOff; only a simulated
	// hardware type may have none.
	Verify(ctx context.Context, n *Node) (states.Power, error)

	// PowerState reads the power state: PowerOn, PowerOff, or PowerError if the response
	// of the hardware contained none.
	PowerState(ctx context.Context, n *Node) (states.Power, error)

	// SetPower requests a power state and returns once the hardware has accepted the
	// request; it does not wait for the state. The error matches [errors.ErrUnsupported]
	// if the hardware has no such request, which a [PowerLimiter] says before. In place of a restart the conductor then
	// requests power off and on, see [powersync.Perform].
	SetPower(ctx context.Context, n *Node, power states.Power) error

	// Steps returns the steps that the hardware type has for work of any kind but
	// WorkVerify. Steps with a priority above 0 run automatically, the highest first. Work
	// for which there is none fails. For WorkClean and WorkService a client may request any
	// of them.
	Steps(n *Node, work states.Work) []Step
}

// Description describes a hardware type.
type Description struct {
	// Interfaces are the hardware interfaces that may be chosen, by kind, the default first. Each hardware type has the
	// kinds "boot", "deploy", "management" and "power". If it leaves out "bios", "console", "firmware", "inspect", "raid",
	// "rescue" or "vendor", its nodes have the interface "no-bios" and so on, and without "network" or "storage" the
	// interface "noop". An interface "no-KIND" has no function: requests that need one are refused with [Unsupported].
	// Names have letters, digits, hyphens, dots and underscores.
	Interfaces map[string][]string `json:"interfaces,omitzero"`
	// Unlisted are further interfaces that may be chosen, which the API's description of the hardware type leaves out.
	// Ironic's fake-hardware takes the management interface "noop" so.
	Unlisted map[string][]string `json:"unlisted,omitzero"`
	// Properties maps each key of driver_info to its description.
	Properties map[string]string `json:"properties,omitzero"`
	// Simulated declares that the nodes have no machines, as with Ironic's fake-hardware.
	// The conductor then does what Ironic does for fake-hardware: a verification needs no
	// power state, an automated cleaning without steps succeeds, a heartbeat ends the step
	// that waits, and a requested deploy step that the hardware type does not have is left
	// out. For any other hardware type, and for nodes that use the agent ([AgentBooter]), the
	// agent's answer or [Conductor.Resume] ends the step that waits, and the others fail.
	Simulated bool `json:"simulated,omitzero"`
}

// Step is a piece of work on a node.
//
// Source: ironic/conductor/steps.py.
type Step struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	// Args are the arguments from the client, decoded from JSON; numbers are
	// [json.Number].
	Args map[string]any `json:"args,omitzero"`
	// ArgsInfo describes the arguments that a client may pass; a step with any other
	// argument is refused.
	ArgsInfo map[string]StepArgument `json:"argsinfo,omitzero"`
	// Priority orders the steps of automated work, the highest first. A step with
	// priority 0 runs only if a client requests it.
	Priority int `json:"priority"`
	// NoRamdisk allows the step in a cleaning or a service without a ramdisk (disable_ramdisk).
	NoRamdisk bool `json:"no_ramdisk,omitzero"`
	// Abortable allows an abort while the step waits. An inspection without such a step cannot be aborted.
	Abortable bool `json:"abortable,omitzero"`

	// InBand declares that the node's agent executes the step. Run then sends it to the agent.
	InBand bool `json:"in_band,omitzero"`
	// Listed is set by the conductor for an in-band step that the agent itself lists.
	Listed bool `json:"listed,omitzero"`
	// RebootRequested reboots the machine after an in-band step.
	RebootRequested bool `json:"reboot_requested,omitzero"`

	// Requested is set by the conductor for a step that a client or a deploy template requests.
	Requested bool `json:"requested,omitzero"`
	// Order is set by the conductor for a requested step that has one, see [StepRequest].
	Order *int `json:"order,omitzero"`
	// OnChildren is set by the conductor for a step that runs on the child nodes and not on the node; Children are the
	// UUIDs of these nodes, none for all children.
	OnChildren bool     `json:"execute_on_child_nodes,omitzero"`
	Children   []string `json:"limit_child_node_execution,omitzero"`

	// Run does the step. It returns nil when the step is done, [ErrWait] when the
	// hardware continues alone until a call-back, and any other error when the step
	// has failed. The conductor cancels the context when it abandons the work.
	Run func(ctx context.Context, t *Task) error `json:"-"`
}

// StepArgument describes an argument of a [Step].
type StepArgument struct {
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// ErrWait is returned by a [Step] whose work continues outside the conductor. The node
// then waits ("clean wait", "wait call-back", ...) without a reservation, until
// [Conductor.Resume] continues with the next step or the wait times out. If the node uses the agent
// ([AgentBooter]), the step also ends when the agent says that it has done the step. A heartbeat alone
// is not enough: it does not say that the agent has done anything.
var ErrWait = errors.New("the step waits for a call-back")

// BootDeviceManager is a [Hardware] that can read and set the boot device.
//
// Source: ironic/common/boot_devices.py, for the names of devices: pxe, disk, cdrom.
type BootDeviceManager interface {
	// BootDevices returns the devices that can be set.
	BootDevices(ctx context.Context, n *Node) ([]string, error)
	// BootDevice reads the device that the node boots from next.
	BootDevice(ctx context.Context, n *Node) (device string, persistent bool, err error)
	// SetBootDevice sets the device for the next boot, or for all boots if persistent. It may replace
	// n.DriverInternalInfo, which is then stored, also if it fails.
	SetBootDevice(ctx context.Context, n *Node, device string, persistent bool) error
}

// PortNeeder is a [Hardware] with hardware interfaces that need a port of the node, since the machine boots from the
// network.
type PortNeeder interface {
	// NeedsPort returns the kinds of the node's hardware interfaces that are invalid while the node has no port: "boot",
	// and "deploy" if the deploy interface validates the boot interface first, as Ironic's do that use the agent.
	NeedsPort(n *Node) []string
}

// PowerLimiter is a [Hardware] that cannot set every power state that a client may request: not all have the soft ones.
//
// Source: get_supported_power_states in ironic/drivers/base.py.
type PowerLimiter interface {
	// SupportsPower reports whether SetPower can set the power state of a node. A client's request for another is refused.
	// It sends nothing to the hardware.
	SupportsPower(n *Node, power states.Power) bool
}

// VendorPassthru is a [Hardware] with vendor-specific methods, which clients call by name. A method
// that changes the machine must be Exclusive.
type VendorPassthru interface {
	// VendorMethods returns the methods of a node by name.
	VendorMethods(n *Node) map[string]VendorMethod
	// CallVendor calls a method. The answer of an async method is nil.
	CallVendor(ctx context.Context, n *Node, method string, args map[string]any) (answer any, err error)
}

// VendorMethod describes a method of a [VendorPassthru].
type VendorMethod struct {
	HTTPMethods []string `json:"http_methods"`
	Async       bool     `json:"async"`
	Description string   `json:"description"`
	Attach      bool     `json:"attach"`
	// Exclusive calls the method with the node reserved. Other methods are also called while another
	// conductor has the node, and [Permit] permits all their requests.
	Exclusive bool `json:"require_exclusive_lock"`
}

// missing is the hardware type of a node whose driver this conductor lacks. All its operations fail
// with err.
type missing struct{ err error }

func (m missing) Describe() Description                               { return Description{} }
func (m missing) Validate(*Node) map[string]error                     { return map[string]error{"power": m.err} }
func (m missing) Verify(context.Context, *Node) (states.Power, error) { return states.NoPower, m.err }
func (m missing) PowerState(context.Context, *Node) (states.Power, error) {
	return states.NoPower, m.err
}
func (m missing) SetPower(context.Context, *Node, states.Power) error { return m.err }
func (m missing) Steps(*Node, states.Work) []Step                     { return nil }

// askTimeout bounds the methods of a hardware type that have no context. They read the node's record and not the
// hardware.
const askTimeout = 5 * time.Second

// question identifies a question to a hardware type about a node, such as "its steps", or a call of it, such as "to
// clean up".
type question struct{ driver, node, what string }

// askHardware calls methods of a node's hardware type that have no context. If the call panics or does not return in
// time, the error is a [*HardwareError] that names the question. If the context has ended, it is the context's error.
// As long as a call that is late has not returned, the same question about the node fails at once: clients and work ask
// again and again, and each call would keep a goroutine and a record. A call that a client has left may be in time for
// others until its own time is over.
func askHardware[T any](ctx context.Context, types *hardwareTypes, n *Node, what string, f func() T) (answer T, err error) {
	q := question{n.Driver, n.UUID, what}
	if left := types.unanswered.Left(q); left != nil {
		err = fmt.Errorf("an earlier question is not answered yet: %w", left)
	} else {
		due := time.Now().Add(askTimeout)
		limited, cancel := context.WithDeadline(ctx, due)
		defer cancel()
		answer, err = abandoned.DoUntil(limited, &types.unanswered, q, due, stepGrace, func(context.Context) (T, error) { return f(), nil })
	}
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	default:
		return answer, &HardwareError{fmt.Errorf("the hardware type could not be asked for %s: %w", what, err)}
	}
}

// callHardware calls a method of a node's hardware type that has a context, or one of its steps. The call may panic,
// and has stepGrace to return after its context has ended. As long as a call hangs after that, the same call for the
// node fails at once, since each call would keep a goroutine and a record.
func callHardware[T any](
	ctx context.Context, types *hardwareTypes, n *Node, what string, f func(context.Context) (T, error),
) (result T, err error) {
	q := question{n.Driver, n.UUID, what}
	if types.unanswered.Left(q) != nil {
		return result, fmt.Errorf("an earlier call %s has not returned yet", what)
	}
	return abandoned.Do(ctx, &types.unanswered, q, stepGrace, f)
}

// call is callHardware for a call without a result.
func (ts *hardwareTypes) call(ctx context.Context, n *Node, what string, f func(context.Context) error) error {
	_, err := callHardware(ctx, ts, n, what, func(ctx context.Context) (none, error) { return none{}, f(ctx) })
	return err
}

// preparation asks others about a change of a node's record, such as the node's hardware type and the store, and
// returns the change, which asks nobody. It may modify the node. An error refuses the change.
type preparation func(ctx context.Context, n *Node) (change func(*Node) error, err error)

// editPrepared reads a node, prepares a change of it, and calls edit with both, such as [fleet.editFrom]. It prepares
// the change again only if another writer has meanwhile changed a field on which the answers may depend.
func (f *fleet) editPrepared(
	ctx context.Context, ident string, prepare preparation,
	edit func(ctx context.Context, ident string, read *Node, change func(*Node) error) (before, n *Node, err error),
) (before, n *Node, err error) {
	asked, err := f.node(ctx, ident)
	if err != nil {
		return nil, nil, err
	}
	for {
		var newer *Node
		change, refusal := prepare(ctx, asked.Clone())
		before, n, err = edit(ctx, ident, asked, func(n *Node) error {
			switch {
			case !n.answersAs(asked):
				newer = n
				return errAskAgain
			case refusal != nil:
				return refusal
			default:
				return change(n)
			}
		})
		if newer == nil {
			return before, n, err
		}
		asked = newer
	}
}

// errAskAgain ends an edit of a record that has changed since others were asked about it.
var errAskAgain = errors.New("the node's record has changed meanwhile")

// answersAs reports whether the answers about an earlier record of a node hold for this one: nothing has changed
// on which an answer may depend.
func (n *Node) answersAs(earlier *Node) bool {
	if n.Revision == earlier.Revision {
		return true
	}
	same := *n
	same.Revision, same.UpdatedAt, same.Health = earlier.Revision, earlier.UpdatedAt, earlier.Health
	same.Agent.LastHeartbeat = earlier.Agent.LastHeartbeat
	return reflect.DeepEqual(&same, earlier)
}

// waitFor waits until each such call that was abandoned has returned. It may have begun within an earlier membership.
func (ts *hardwareTypes) waitFor(ctx context.Context, n *Node, what string) error {
	_, err := sleep.Until(ctx, time.Second, func() (none, bool, error) {
		return none{}, ts.unanswered.Left(question{n.Driver, n.UUID, what}) == nil, nil
	})
	return err
}
