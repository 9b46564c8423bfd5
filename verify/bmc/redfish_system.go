// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// boot is the boot override of a system.
type boot struct {
	Target  *string `json:"BootSourceOverrideTarget,omitempty"`
	Enabled string  `json:"BootSourceOverrideEnabled,omitempty"`
	Mode    string  `json:"BootSourceOverrideMode,omitempty"`
	// HTTPURI is the address to boot from by UEFI HTTP, or null to learn it by DHCP.
	HTTPURI json.RawMessage `json:"HttpBootUri,omitempty"`
}

// boot returns the boot override of a system.
func (r resource) boot() (b boot, err error) {
	err = r.raw.Get("Boot", &b)
	return b, err
}

// readSystem reads the system that the Config selects, without gofish.
func (r *redfishConnection) readSystem(ctx context.Context) (system resource, err error) {
	path, err := r.client.System(ctx)
	if err == nil {
		system.raw, system.answer, err = r.client.Get(ctx, path)
	}
	return system, err
}

// hasTarget and hasMode report whether a boot override has a property.
func hasTarget(b boot) bool { return b.Target != nil }

func hasMode(b boot) bool { return b.Mode != "" }

// bootResource is a resource in which the boot override of a system is changed.
type bootResource struct {
	resource
	system, settings string // the paths of the system and of its settings object
	unlinked         bool   // the settings object may not be there, and was not read
}

// other returns the path of the other one of system and settings object.
func (b bootResource) other() string {
	if b.answer.Request.Path == b.system {
		return b.settings
	}
	return b.system
}

// bootSettings returns the resource in which a property of a system's boot override is changed: its settings object if
// that has the property, otherwise the system. A settings object without a link is where firmware of AMI has it.
//
// Source: set_system_boot_options in sushy/resources/system/system.py; issue 144 of
// github.com/DMTF/Redfish-Tacklebox.
func (r *redfishConnection) bootSettings(ctx context.Context, system resource, has func(boot) bool) (bootResource, error) {
	var to struct{ SettingsObject redfish.Link }
	_ = system.raw.Get("@Redfish.Settings", &to) // of another type, it leads nowhere
	at := bootResource{resource: system, system: system.answer.Request.Path}
	path, err := r.client.Follow(at.system, to.SettingsObject.ID)
	if err != nil {
		at.settings, at.unlinked = strings.TrimSuffix(at.system, "/")+"/SD", true
		return at, nil
	}
	at.settings = path
	var settings resource
	settings.raw, settings.answer, _ = r.client.Get(ctx, path) // one that cannot be read has no boot override
	if lost := r.client.Lost(); lost != nil {
		return at, lost
	}
	if boot, malformed := settings.boot(); malformed == nil && has(boot) {
		at.resource = settings
	}
	return at, nil
}
