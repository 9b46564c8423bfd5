// SPDX-License-Identifier: Apache-2.0

package hardware

// storedRAID is a RAID interface, such as "redfish", that stores target_raid_config and has no steps: a request for a
// step of it fails unless the agent has the step and the work is a service.
type storedRAID struct{ named }

func (storedRAID) Validate(Node) error { return nil }
