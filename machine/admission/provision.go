// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/states"
)

// Provision decides about a client's request for a provision state: PUT
// /v1/nodes/NODE/states/provision {"target": target} at version v. It returns the event of the
// accepted request, or the error of [Rules.Request], [Rules.Start] or [Rules.Validate], in this
// order.
func (r Rules) Provision(f NodeFields, target string, v states.APIVersion) (states.Event, error) {
	event, err := r.Request(f, target, v)
	if err == nil {
		err = r.Start(f, event)
	}
	if err == nil {
		err = r.Validate(f, event)
	}
	if err != nil {
		return states.NoEvent, err
	}
	return event, nil
}

// Request is the part of [Rules.Provision] that the API decides before it checks the other
// fields of the request. The error is a [*states.RequestError], or a [*Refusal] that matches
// InMaintenance or Locked: a word that the state does not allow is refused as Locked while the
// node is reserved.
//
// Source: provision in ironic/api/controllers/v1/node.py.
func (r Rules) Request(f NodeFields, target string, v states.APIVersion) (states.Event, error) {
	event, err := r.table().Request(f.State, target, v)
	switch {
	case errors.Is(err, states.ErrNotAcceptable):
		return states.NoEvent, err
	case f.Maintenance && (target == states.EventRebuild.String() || target == states.Active.String()):
		return states.NoEvent, &Refusal{Request: target, Reason: InMaintenance, Field: maintenanceField}
	case err != nil && f.Reserved && !errors.Is(err, states.ErrNotUnderstood):
		return states.NoEvent, locked(target)
	case err != nil:
		return states.NoEvent, err
	}
	return event, nil
}

// The fields that refuse requests.
const (
	allocationField  = "allocation_uuid"
	instanceField    = "instance_uuid"
	maintenanceField = "maintenance"
	powerField       = "power_state"
	powerOffField    = "disable_power_off"
	protectedField   = "protected"
	reservationField = "reservation"
	retiredField     = "retired"
	bootModeField    = "boot_mode"
	stateField       = "provision_state"
	traitsField      = "traits"
)

// Start decides whether the conductor starts the work of an event that a client has requested
// and the table allows. The error is a [*Refusal] that matches Locked, InMaintenance,
// IsProtected, IsRetired, or Invalid for a boot mode that the operator does not allow.
//
// Source: the methods of ironic/conductor/manager.py that provision calls, and validate_node in
// deployments.py beside it.
func (r Rules) Start(f NodeFields, e states.Event) error {
	refusal, refused := r.start(f, e)
	if refused {
		return onHeap(refusal)
	}
	return nil
}

// start is Start, with the Refusal as a value. Start is small enough to be inlined, so
// that a caller that only reads the refusal does not allocate.
func (r Rules) start(f NodeFields, e states.Event) (refusal Refusal, refused bool) {
	switch {
	case f.Reserved:
		return *locked(e.String()), true
	case f.Maintenance && e == states.EventAbort && f.State == states.ServiceFail:
		return Refusal{Request: e.String(), Reason: InMaintenance, Field: maintenanceField, status: statusConflict}, true
	case f.Maintenance && r.needsNoMaintenance(e):
		return Refusal{Request: e.String(), Reason: InMaintenance, Field: maintenanceField}, true
	case f.Protected && (e == states.EventRebuild || e == states.EventDelete):
		return Refusal{Request: e.String(), Reason: IsProtected, Field: protectedField}, true
	case f.Retired && e == states.EventProvide:
		return Refusal{Request: e.String(), Reason: IsRetired, Field: retiredField}, true
	case (e == states.EventDeploy || e == states.EventRebuild) && !r.deploys(f.BootModes):
		return Refusal{Request: e.String(), Reason: Invalid, Field: bootModeField}, true
	default:
		return Refusal{}, false
	}
}

// needsNoMaintenance reports whether a request is refused while the node is in maintenance.
func (r Rules) needsNoMaintenance(e states.Event) bool {
	switch e {
	case states.EventDeploy, states.EventRebuild, states.EventRescue, states.EventUnrescue, states.EventClean, states.EventService:
		return true
	case states.EventProvide:
		return !r.provisionsInMaintenance()
	default:
		return false
	}
}

// Work decides whether an automated cleaning may begin, and whether a cleaning, deployment or
// rescue may go on when the node's agent sends a heartbeat. The error is a [*Refusal] that
// matches InMaintenance; the work then fails.
//
// Source: do_node_clean in ironic/conductor/cleaning.py, _heartbeat_in_maintenance in
// ironic/drivers/modules/agent_base.py.
func (r Rules) Work(f NodeFields) error {
	if f.Maintenance && !r.provisionsInMaintenance() {
		return &Refusal{Request: "work", Reason: InMaintenance, Field: maintenanceField}
	}
	return nil
}

// Heartbeat decides whether a heartbeat of the node's agent continues the work that waits for
// it. The error is a [*Refusal] that matches InMaintenance: the work waits until the
// maintenance has ended, unless [Rules.Work] ends it.
//
// Source: heartbeat in ironic/drivers/modules/agent_base.py.
func (r Rules) Heartbeat(f NodeFields) error {
	if f.Maintenance {
		return &Refusal{Request: "heartbeat", Reason: InMaintenance, Field: maintenanceField}
	}
	return nil
}

// validations maps events to the kinds of hardware interfaces that are validated before the
// work starts, in Ironic's order.
var validations = [...]struct {
	kinds            []string
	missing, invalid int  // the HTTP status if an interface is "no-KIND" or its validation fails; 0 stands for the reason's
	traits           bool // the instance's traits are validated too
}{
	states.EventDeploy:   {kinds: []string{"power", "deploy"}, traits: true},
	states.EventRebuild:  {kinds: []string{"power", "deploy"}, traits: true},
	states.EventDelete:   {kinds: []string{"power"}, invalid: statusInternalError},
	states.EventClean:    {kinds: []string{"power", "network"}},
	states.EventService:  {kinds: []string{"power", "network"}},
	states.EventInspect:  {kinds: []string{"power", "inspect"}},
	states.EventRescue:   {kinds: []string{"power", "rescue", "network"}, missing: statusInternalError, invalid: statusInternalError},
	states.EventUnrescue: {kinds: []string{"power"}, invalid: statusInternalError},
}

// Validates reports whether [Rules.Validate] looks at any hardware interface before the work of
// an event, so that a caller can spare the validation of the others.
func (r Rules) Validates(e states.Event) bool {
	return int(e) < len(validations) && len(validations[e].kinds) > 0
}

// Validate decides whether the node's hardware interfaces and, for a deployment, the traits of
// its instance permit the work of an event. The error is a [*Refusal] that matches Unsupported
// or Unsuitable, and the error in Problems.
//
// Source: as for [Rules.Start]; validate_instance_info_traits in ironic/conductor/utils.py.
func (r Rules) Validate(f NodeFields, e states.Event) error {
	if !r.Validates(e) {
		return nil
	}
	v := &validations[e]
	for _, kind := range v.kinds {
		err := f.Problems[kind]
		if f.Interfaces[kind] == kinds.None(kind) || errors.Is(err, Unsupported) {
			return &Refusal{Request: e.String(), Reason: Unsupported, Field: kind + "_interface", status: v.missing}
		}
		if err != nil {
			return &Refusal{Request: e.String(), Reason: Unsuitable, Field: kind + "_interface", Err: err, status: v.invalid}
		}
	}
	if err := f.missingTraits(); v.traits && err != nil {
		return &Refusal{Request: e.String(), Reason: Unsuitable, Field: traitsField, Err: err}
	}
	return nil
}

// TraitsError reports that a node lacks traits that its instance needs.
type TraitsError struct {
	Missing []string // sorted
}

// Error names the missing traits.
func (e *TraitsError) Error() string {
	return "the node lacks the traits " + strings.Join(e.Missing, ", ") + " of its instance"
}

var errTraitList = errors.New("instance_info.traits is not a list of strings")

// missingTraits returns an error if the instance needs a trait that the node lacks.
func (f *NodeFields) missingTraits() error {
	switch wanted := f.InstanceTraits.(type) {
	case nil:
		return nil
	case []string:
		return f.missing(len(wanted), func(i int) (string, bool) { return wanted[i], true })
	case []any:
		return f.missing(len(wanted), func(i int) (string, bool) { s, ok := wanted[i].(string); return s, ok })
	default:
		if pyrepr.Truthy(wanted) {
			return errTraitList
		}
		return nil
	}
}

func (f *NodeFields) missing(n int, wanted func(int) (string, bool)) error {
	var missing []string
	for i := range n {
		trait, ok := wanted(i)
		if !ok {
			return errTraitList
		}
		if !slices.Contains(f.Traits, trait) {
			missing = append(missing, trait)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return &TraitsError{slices.Compact(missing)}
}
