// SPDX-License-Identifier: Apache-2.0

package hardware

// stored is the name of a RAID interface, such as "redfish", that stores target_raid_config and has no steps: a request
// for a step of it fails unless the agent has the step and the work is a service.
type stored string

func (i stored) Name() string                { return string(i) }
func (stored) Properties() map[string]string { return nil }
func (stored) Validate(Node) error           { return nil }
