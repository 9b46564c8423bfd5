// SPDX-License-Identifier: Apache-2.0

package bmc

// system is a ComputerSystem.
type system struct {
	object
	answer *answer
}

// boot is the boot override of a system.
type boot struct {
	Target  *string `json:"BootSourceOverrideTarget,omitempty"`
	Enabled string  `json:"BootSourceOverrideEnabled,omitempty"`
	Mode    string  `json:"BootSourceOverrideMode,omitempty"`
}

// resetAction is how a system is reset.
type resetAction struct {
	Target  string   `json:"target"`
	Allowed []string `json:"ResetType@Redfish.AllowableValues,omitempty"`
}

func (s *system) boot() (boot, error) {
	var b boot
	err := s.get("Boot", &b)
	return b, err
}

func (s *system) resetAction() (resetAction, error) {
	var actions struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}
	err := s.get("Actions", &actions)
	return actions.Reset, err
}
