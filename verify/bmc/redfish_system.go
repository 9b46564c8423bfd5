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

func (s *system) boot() (boot, error) {
	var b boot
	err := s.Get("Boot", &b)
	return b, err
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

// hasTarget and hasMode report whether a boot override has a property.
func hasTarget(b boot) bool { return b.Target != nil }

func hasMode(b boot) bool { return b.Mode != "" }

// bootSettings returns the resource in which a property of the system's boot override is changed: its settings object
// if that has the property, otherwise the system.
//
// Source: set_system_boot_options in sushy/resources/system/system.py.
func (s *system) bootSettings(ctx context.Context, client *redfish.Client, has func(boot) bool) (*system, error) {
	var settings struct{ SettingsObject redfish.Link }
	_ = s.Get("@Redfish.Settings", &settings) // of another type, it leads nowhere
	path, err := client.Follow(s.answer.Request.Path, settings.SettingsObject.ID)
	if err != nil {
		return s, nil
	}
	o, a, _ := client.Get(ctx, path) // one that cannot be read has no boot override
	if lost := client.Lost(); lost != nil {
		return nil, lost
	}
	found := &system{Object: o, answer: a}
	if boot, malformed := found.boot(); malformed != nil || !has(boot) {
		return s, nil
	}
	return found, nil
}
