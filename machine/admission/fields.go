// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/ironstate/ironstate/states"

// NodeFields are the fields of a node's record, and of its validation, that decide about
// requests. The zero value of a field refuses nothing.
type NodeFields struct {
	State  states.State // provision_state
	Target states.State // target_provision_state
	Power  states.Power // power_state

	Maintenance bool // maintenance
	Protected   bool // protected
	Retired     bool // retired
	Reserved    bool // reservation is not empty
	Associated  bool // instance_uuid is not empty
	Allocated   bool // allocation_uuid is not empty

	// DisablePowerOff is disable_power_off.
	DisablePowerOff bool

	// Interfaces are the node's hardware interfaces by kind, as "no-rescue" by "rescue". An
	// interface "no-KIND" refuses the requests that need the kind.
	Interfaces map[string]string
	// Problems are the results of the validation of the hardware interfaces by kind: nil
	// for a valid one, and an error that matches Unsupported for "no-KIND".
	Problems map[string]error
	// Traits are the node's traits.
	Traits []string
	// BootModes are the boot modes that the node is to be deployed with: in Ironic its property boot_mode.
	BootModes []string
	// InstanceTraits is traits in instance_info, as decoded from JSON.
	InstanceTraits any
}

// Rules are the rules of a series. The zero value has the latest series and Ironic's
// defaults. Rules are a value and may be shared freely.
type Rules struct {
	Table *states.Table // nil stands for the latest series

	// NoProvisioningInMaintenance refuses to provide a node in maintenance and to clean it
	// automatically: [conductor]allow_provisioning_in_maintenance = False. The option exists
	// since Train; earlier series always accept both.
	NoProvisioningInMaintenance bool
	// KeepAvailable refuses to delete the record of an available node:
	// [conductor]allow_deleting_available_nodes = False. The option exists since Stein; earlier
	// series always delete it.
	KeepAvailable bool
	// DisallowedSteps has the steps that do not run, named as "bios.factory_reset", by the work in which they would: a
	// cleaning, a deployment or a service ([api]disallow_clean_steps, disallow_deploy_steps, disallow_service_steps). Nil
	// stands for Ironic's default, which is vendor.send_raw in all three since 2025.1. Do not modify it while it is in
	// use.
	DisallowedSteps map[states.Work][]string
	// DisallowedBootModes are the boot modes that the operator does not allow.
	DisallowedBootModes BootModes
}

// BootModes are boot modes, "bios" or "uefi", by the requests in which the operator does not allow them. The options
// exist since 2024.2; earlier series allow all modes.
type BootModes struct {
	// Enrollment refuses new nodes with a mode in the capabilities of their properties, and changes of these:
	// [api]disallowed_enrollment_boot_modes.
	Enrollment []string
	// Deployment refuses to deploy or rebuild a node with a mode: [conductor]disallowed_deployment_boot_modes.
	Deployment []string
}

func (r Rules) table() *states.Table {
	if r.Table == nil {
		return states.Latest().Table()
	}
	return r.Table
}

// provisionsInMaintenance reports whether a node in maintenance is provided and cleaned.
func (r Rules) provisionsInMaintenance() bool {
	return !r.NoProvisioningInMaintenance || r.before(states.Train)
}

// before reports whether the table's series is older than s. A table without a series is not.
func (r Rules) before(s states.Series) bool {
	series := r.table().Series()
	return series != states.NoSeries && series < s
}
