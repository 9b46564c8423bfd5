// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

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

// findSystem finds the path of the system that the Config selects.
func (s *service) findSystem(ctx context.Context) error {
	if s.system != "" {
		return nil
	}
	members, err := s.members(ctx, s.systems)
	if err != nil {
		return err
	}
	switch {
	case s.config.SystemID != "":
		for _, member := range members {
			if resourceID(member) == s.config.SystemID {
				s.system = member
				return nil
			}
		}
		return failure.Unsupportedf("none of the BMC's systems has the ID %q", s.config.SystemID)
	case s.config.SystemName != "":
		return s.findByName(ctx, members)
	case len(members) != 1:
		return failure.Unsupportedf("the BMC has %d systems, and neither SystemID nor SystemName says which is meant", len(members))
	}
	s.system = members[0]
	return nil
}

// findByName reads systems until one has the name. It skips systems that cannot be
// read, such as that of an empty slot.
func (s *service) findByName(ctx context.Context, members []string) error {
	var passed error
	for _, member := range members {
		system, a, err := s.get(ctx, member)
		if err != nil {
			if a == nil || s.refused || ctx.Err() != nil || errors.Is(err, errBytes) {
				return err
			}
			passed = err
			continue
		}
		var name string
		if system.get("Name", &name) == nil && name == s.config.SystemName {
			s.system = member
			return nil
		}
	}
	if passed != nil {
		return passed
	}
	return failure.Unsupportedf("none of the BMC's systems has the name %q", s.config.SystemName)
}

// readSystem reads the system that the Config selects.
func (s *service) readSystem(ctx context.Context) (*system, error) {
	if err := s.findSystem(ctx); err != nil {
		return nil, err
	}
	o, a, err := s.get(ctx, s.system)
	if err != nil {
		return nil, err
	}
	return &system{object: o, answer: a}, nil
}
