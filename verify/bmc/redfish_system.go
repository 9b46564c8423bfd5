// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"

	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// system is a ComputerSystem.
type system struct {
	redfish.Object
	answer *redfish.Answer
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
	err := s.Get("Boot", &b)
	return b, err
}

func (s *system) resetAction() (resetAction, error) {
	var actions struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}
	err := s.Get("Actions", &actions)
	return actions.Reset, err
}

// readSystem reads the system that the Config selects.
func readSystem(ctx context.Context, client *redfish.Client) (*system, error) {
	path, err := client.System(ctx)
	if err != nil {
		return nil, err
	}
	o, a, err := client.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	return &system{Object: o, answer: a}, nil
}
