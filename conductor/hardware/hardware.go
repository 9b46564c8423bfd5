// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"errors"
	"maps"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// Type is a hardware type that is composed of interfaces: a [conductor.Hardware] that implements the optional
// interfaces of package conductor, too, where the interfaces that a node has chosen have the function. Make it with
// [New], [NewRedfish], [NewIPMI] or [NewBMCLib], and Close it. It is safe for concurrent use. A nil or zero Type has
// no interfaces and no steps, and its other methods return a [*machine.ConfigError]. A nil node is an error.
//
// An error about a node's record is a [*conductor.Error] that matches [conductor.Invalid] or
// [conductor.Unsupported]. An error of a BMC wraps a [*verify.Error]. No error contains a
// password.
type Type struct {
	interfaces Interfaces
	config     *Config
}

var (
	_ conductor.Hardware           = (*Type)(nil)
	_ conductor.AgentBooter        = (*Type)(nil)
	_ conductor.ConfigDriveBuilder = (*Type)(nil)
	_ conductor.FilePublisher      = (*Type)(nil)
	_ conductor.ImageServer        = (*Type)(nil)
	_ conductor.BootDeviceManager  = (*Type)(nil)
	_ conductor.CacheReader        = (*Type)(nil)
	_ conductor.HealthReader       = (*Type)(nil)
	_ conductor.InBandStepper      = (*Type)(nil)
	_ conductor.Management         = (*Type)(nil)
	_ conductor.PortNeeder         = (*Type)(nil)
	_ conductor.PowerLimiter       = (*Type)(nil)
	_ conductor.ReadSharer         = (*Type)(nil)
	_ conductor.VendorPassthru     = (*Type)(nil)
)

// New returns a hardware type of these interfaces. The error is a [*machine.ConfigError].
func New(c Config, i Interfaces) (*Type, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	i = i.withDefaults()
	if err := i.check(); err != nil {
		return nil, err
	}
	if i.Deploy, err = c.orderDeploy(i.Deploy); err != nil {
		return nil, err
	}
	return &Type{interfaces: i, config: &c}, nil
}

// Close closes the interfaces that have a method Close. By Redfish it logs out of all open sessions: calls in flight
// log out when they are done, and later calls keep no session open. If the context ends first, Close returns its error.
func (t *Type) Close(ctx context.Context) error {
	if err := t.made(); err != nil {
		return err
	}
	var errs []error
	for _, kind := range t.interfaces.kinds(new(Chosen)) {
		for _, each := range kind.list() {
			if c, ok := each.(interface{ Close(context.Context) error }); ok {
				if err := c.Close(ctx); err != nil && !errors.Is(errors.Join(errs...), err) { // several may close the same
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// made returns an error for a nil or zero Type.
func (t *Type) made() error {
	if t == nil || t.config == nil {
		return &machine.ConfigError{Package: "hardware", Field: "Type", Want: "one that New, NewRedfish, NewIPMI or NewBMCLib made"}
	}
	return nil
}

// node returns a node with the interfaces that it has chosen. It returns an error for a nil node, for a nil or zero
// Type, and for an interface that the Type does not have.
func (t *Type) node(n *conductor.Node) (Node, error) {
	if n == nil {
		return Node{}, invalidf("there is no node: it is nil")
	}
	if err := t.made(); err != nil {
		return Node{}, err
	}
	chosen, err := t.interfaces.choose(n)
	return Node{n, chosen, t.config}, err
}

// Describe implements [conductor.Hardware].
func (t *Type) Describe() conductor.Description {
	if t.made() != nil {
		return conductor.Description{}
	}
	properties := map[string]string{}
	for _, kind := range t.interfaces.kinds(new(Chosen)) {
		for _, each := range kind.list() {
			maps.Copy(properties, each.Properties())
		}
	}
	return conductor.Description{Interfaces: t.interfaces.names(), Properties: properties}
}

// Validate implements [conductor.Hardware].
func (t *Type) Validate(n *conductor.Node) map[string]error {
	node, err := t.node(n)
	if err != nil {
		return map[string]error{"power": err}
	}
	result := map[string]error{"console": validateConsole(node), "network": nil, "storage": nil}
	for _, kind := range t.interfaces.kinds(&node.Chosen) {
		if kind.Name() != "vendor" { // as in Ironic
			result[kind.Name()] = kind.chosen().Validate(node)
		}
	}
	return result
}

// Verify implements [conductor.Hardware]. By Redfish and by IPMI it reads the power state, over the session that is
// kept for the node's driver_info, or a new one. With Config.CheckManagement it also checks the management interface on
// the BMC, as the enroll specification demands; Ironic's code does not, and neither does the default.
func (t *Type) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	node, err := t.node(n)
	if err != nil {
		return states.NoPower, err
	}
	if v, ok := node.Chosen.Power.(Verifier); ok {
		return v.Verify(ctx, n)
	}
	return node.Chosen.Power.PowerState(ctx, n)
}

// PowerState implements [conductor.Hardware].
func (t *Type) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	node, err := t.node(n)
	if err != nil {
		return states.NoPower, err
	}
	return node.Chosen.Power.PowerState(ctx, n)
}

// SupportsPower implements [conductor.PowerLimiter].
func (t *Type) SupportsPower(n *conductor.Node, power states.Power) bool {
	node, err := t.node(n)
	if err != nil {
		return false
	}
	by, ok := node.Chosen.Power.(conductor.PowerLimiter)
	return !ok || by.SupportsPower(n, power)
}

// SetPower implements [conductor.Hardware].
func (t *Type) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	node, err := t.node(n)
	if err != nil {
		return err
	}
	if m, ok := node.Chosen.Management.(BootDeviceRestorer); ok && power.Target() == states.PowerOn {
		if err := m.RestoreBootDevice(ctx, n); err != nil {
			return err
		}
	}
	return node.Chosen.Power.SetPower(ctx, n, power)
}

// Steps implements [conductor.Hardware]. The package comment describes the steps.
func (t *Type) Steps(n *conductor.Node, work states.Work) (steps []conductor.Step) {
	node, err := t.node(n)
	if err != nil {
		return nil
	}
	for _, kind := range t.interfaces.kinds(&node.Chosen) {
		stepper, ok := kind.chosen().(Stepper)
		if !ok {
			continue
		}
		for _, step := range stepper.Steps(node, work) {
			step.Interface = kind.Name()
			steps = append(steps, step)
		}
	}
	return steps
}
