// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// Rules returns the rules by which the conductor accepts requests.
func (c *Conductor) Rules() admission.Rules { return c.rules.admission() }

// Fields returns the fields of the node's record that decide about requests.
func (n *Node) Fields() admission.NodeFields {
	return admission.NodeFields{
		State: n.ProvisionState, Target: n.TargetProvisionState, Power: n.Power,
		Maintenance: n.Maintenance, Protected: n.Protected, Retired: n.Retired, Reserved: n.Reservation != "",
		Associated: n.InstanceUUID != "", Allocated: n.AllocationUUID != "", DisablePowerOff: n.DisablePowerOff,
		Interfaces: n.Interfaces, Traits: n.Traits, InstanceTraits: n.InstanceInfo["traits"], BootModes: n.bootModes(),
	}
}

// refused returns the error of a request that package admission refuses: a refusal gets Ironic's
// text, any other error is returned as it is.
func (b *rulebook) refused(n *Node, err error) error {
	var r *admission.Refusal
	if !errors.As(err, &r) {
		return err
	}
	if r.Reason == Invalid && r.Err != nil {
		return r.Err
	}
	return &Error{Reason: r.Reason, Text: b.refusalText(n, r), Err: r}
}

// unlocked returns an error that matches Locked if the node is reserved.
func (b *rulebook) unlocked(n *Node) error {
	return b.refused(n, b.admission().Lock(n.Fields(), "lock"))
}

// The states in the order of Ironic's texts.
var (
	updateOrder = []states.State{states.Enroll, states.Inspecting, states.InspectWait, states.Manageable, states.Available}
	deleteOrder = []states.State{states.Manageable, states.Enroll, states.AdoptFail, states.Available}
)

// listed returns the names of the states of a set in an order.
func listed(set states.Set, order []states.State) (names []string) {
	for _, s := range order {
		if set.Has(s) {
			names = append(names, s.String())
		}
	}
	return names
}

// operation returns Ironic's word for the operation of a client's request, empty for a request that is never refused by
// that word.
func operation(table *states.Table, verb string) string {
	event, err := states.ParseVerb(verb)
	switch {
	case err != nil:
		return ""
	case event == states.EventProvide:
		return "providing"
	default:
		return begunBy(table, event).texts.operation
	}
}

// refusalText returns the text of Ironic's response to a refused request for a node.
//
// Source: ironic/common/exception.py, and the raise statements of ironic/conductor/manager.py.
func (b *rulebook) refusalText(n *Node, r *admission.Refusal) string {
	switch r.Reason {
	case Locked:
		return lockedText(n, n.Reservation)
	case InMaintenance:
		switch operation := operation(b.config.Table, r.Request); {
		case operation != "":
			return fmt.Sprintf("The %s operation can't be performed on node %s because it's in maintenance mode.", operation, n.UUID)
		case r.Request == states.EventAbort.String():
			return fmt.Sprintf("Can not abort service on node %q while it is in maintenance mode. Please remove the node from "+
				"maintenance prior to issuing the request to abort the service operation.", n.UUID)
		default:
			return "Cleaning a node in maintenance mode is not allowed"
		}
	case IsProtected:
		return fmt.Sprintf("Node %s is protected and cannot be undeployed, rebuilt or deleted", n.UUID)
	case IsRetired:
		return fmt.Sprintf("The providing operation can't be performed on node %s because it is retired.", n.UUID)
	case Associated:
		return fmt.Sprintf("Node %s is associated with instance %s.", n.UUID, n.InstanceUUID)
	case PowerOffDisabled:
		return fmt.Sprintf("Failed to set node power state to %s.", r.Request)
	case Unsupported, Unsuitable:
		return validationText(n, r)
	case Invalid:
		if r.Field == "boot_mode" {
			return fmt.Sprintf("'%s' boot mode is not allowed for provisioning operation.", b.disallowedMode(n))
		}
		if r.Field == "target" {
			return fmt.Sprintf("%q is no power state that can be requested", r.Request)
		}
		return fmt.Sprintf("The %s field can only be set when %s is True", r.Field, strings.TrimSuffix(r.Field, "_reason"))
	default:
		return b.stateText(n, r)
	}
}

// lockedText returns Ironic's text for a node that a conductor has locked.
func lockedText(n *Node, conductor string) string {
	return fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", n.UUID, conductor)
}

// stateText returns the text of a refusal for the node's provision state.
func (b *rulebook) stateText(n *Node, r *admission.Refusal) string {
	allowed := strings.Join(listed(admission.InterfaceStates(), updateOrder), ", ")
	current := ""
	if b.config.Table.Series() >= states.Flamingo {
		current = fmt.Sprintf(" Current state is '%s'.", n.ProvisionState)
	}
	switch r.Field {
	case "protected":
		return fmt.Sprintf("Node %s can only be made protected in provision states 'active' or 'rescue', the current state is '%s'",
			n.UUID, n.ProvisionState)
	case "retired":
		return fmt.Sprintf("Node %s can not have 'retired' set in provision state 'available', the current state is 'available'", n.UUID)
	case "resource_class":
		return fmt.Sprintf("Node %s can not have resource_class updated unless it is in one of allowed (%s) states.%s", n.UUID, allowed, current)
	case "allocation_uuid":
		return fmt.Sprintf("Node %s with an allocation can not have instance_uuid removed unless it is in one of allowed (%s) states "+
			"or in maintenance mode.%s", n.UUID, allowed, current)
	case "provision_state":
		if r.Request == "deletion" {
			return fmt.Sprintf("Can not delete node %q while it is in provision state %q. Valid provision states to perform deletion "+
				"are: \"(%s)\", or set the node into maintenance mode",
				n.UUID, n.ProvisionState, strings.Trim(pyrepr.List(listed(b.admission().DeleteAllowed(), deleteOrder)), "[]"))
		}
		return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.",
			r.Request, n.UUID, n.ProvisionState)
	default: // a hardware interface
		return fmt.Sprintf("Node %s can not have %s updated unless it is in one of allowed (%s) states or in maintenance mode.%s",
			n.UUID, r.Field, allowed, current)
	}
}

// validateTraits returns the reason why the node's traits do not permit a deployment, nil if they do.
func (b *rulebook) validateTraits(n *Node) error {
	var r *admission.Refusal
	if errors.As(b.admission().Validate(n.Fields(), states.EventDeploy), &r) && r.Field == "traits" {
		return refuse(Unsuitable, "%s", validationReason(n, r))
	}
	return nil
}

// validationReason returns why a node's hardware interfaces or traits are invalid.
func validationReason(n *Node, r *admission.Refusal) string {
	why := UnsupportedText(n.Driver, strings.TrimSuffix(r.Field, "_interface"))
	var traits *admission.TraitsError
	switch {
	case errors.As(r.Err, &traits):
		why = fmt.Sprintf("Cannot specify instance traits that are not also set on the node. Node %s is missing traits %s",
			n.UUID, strings.Join(traits.Missing, ", "))
	case r.Field == "traits":
		why = fmt.Sprintf("Error parsing traits from Node %s instance_info field. A list of strings is expected.", n.UUID)
	case r.Err != nil:
		why = r.Err.Error()
	}
	return why
}

// validationText returns the text of a refusal for the node's hardware interfaces or traits.
func validationText(n *Node, r *admission.Refusal) string {
	why := validationReason(n, r)
	instance := n.InstanceUUID
	if instance == "" {
		instance = "None"
	}
	switch r.Request {
	case "deploy", "rebuild":
		return fmt.Sprintf("Failed to validate deploy or power info for node %s: %s", n.UUID, why)
	case "delete":
		return "Failed to validate power driver interface. Can not delete instance. Error: " + why
	case "clean":
		return fmt.Sprintf("Validation of node %s for cleaning failed: %s", n.UUID, why)
	case "service":
		return fmt.Sprintf("Validation of node %s for servicing failed: %s", n.UUID, why)
	case "rescue", "unrescue":
		return fmt.Sprintf("Failed to %s instance %s for node %s: Validation failed: %s", r.Request, instance, n.UUID, why)
	default:
		return why
	}
}

// disallowedMode returns the boot mode of a node with which the operator does not allow it to be deployed.
func (b *rulebook) disallowedMode(n *Node) string {
	for _, mode := range n.bootModes() {
		if slices.Contains(b.config.DisallowedBootModes.Deployment, mode) {
			return mode
		}
	}
	return ""
}
