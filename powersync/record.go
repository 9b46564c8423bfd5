// SPDX-License-Identifier: Apache-2.0

package powersync

import "github.com/ironstate/ironstate/states"

// FaultPowerFailure is the fault of a node that a round put into maintenance.
// Recovery takes nodes with this fault and no others.
const FaultPowerFailure = "power failure"

// Record is the part of a stored node that concerns its power. It is a
// value: copy it, compare it with ==. Its JSON keys are Ironic's.
type Record struct {
	ID                string       `json:"uuid"`
	Name              string       `json:"name,omitempty"` // what users call the node, for texts; empty for none
	ProvisionState    states.State `json:"provision_state"`
	Power             states.Power `json:"power_state"`
	TargetPower       states.Power `json:"target_power_state"`
	Maintenance       bool         `json:"maintenance"`
	MaintenanceReason string       `json:"maintenance_reason"`
	Fault             string       `json:"fault"`
	Reservation       string       `json:"reservation"` // who holds the node
	LastError         string       `json:"last_error"`
	DisablePowerOff   bool         `json:"disable_power_off"`

	// Revision belongs to the [Store], which gives a record a new one whenever anything
	// about the node changes.
	Revision int64 `json:"-"`
}

// released returns the record without its reservation and target power state.
func (r Record) released() Record {
	r.Reservation = ""
	r.TargetPower = states.NoPower
	return r
}
