// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// checkManagement checks that the system has a boot override.
func (r *redfishConnection) checkManagement(ctx context.Context) error {
	_, _, err := r.bootOverride(ctx)
	return err
}

// bootOverride reads the system and its boot override.
func (r *redfishConnection) bootOverride(ctx context.Context) (resource, boot, error) {
	system, err := r.readSystem(ctx)
	if err != nil {
		return system, boot{}, err
	}
	now, err := system.boot()
	if err == nil && now.Target == nil {
		err = failure.Unsupportedf("the system has no boot override")
	}
	return system, now, err
}

func (r *redfishConnection) bootDevice(ctx context.Context) (device string, persistent bool, err error) {
	system, now, err := r.bootOverride(ctx)
	if err == nil && now.Enabled == disabled {
		now, err = r.pendingBoot(ctx, system)
	}
	if err != nil || now.Enabled == disabled {
		return "", false, err
	}
	for _, b := range bootDevices {
		if b.is(*now.Target) {
			return b.word, now.Enabled == continuous, nil
		}
	}
	return "", false, nil
}

// pendingBoot returns the boot override of the settings object of a system that shows none, since it may be set and not
// in force yet. Without one there, it returns the system's.
func (r *redfishConnection) pendingBoot(ctx context.Context, system resource) (boot, error) {
	at, err := r.bootSettings(ctx, system, hasTarget)
	if err != nil {
		return boot{}, err
	}
	if at.unlinked && (r.bootNeeds(system).whole || !system.answer.Allows(http.MethodPatch)) { // changeBoot may have set it there
		raw, _, err := r.client.Optional(ctx, at.settings)
		there, malformed := resource{raw: raw}.boot()
		if err != nil || malformed == nil && there.Target != nil && (there.Enabled == once || there.Enabled == continuous) {
			return there, err
		}
	}
	return at.boot()
}

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
		at.settings, at.unlinked = system.unlinkedSettings(), true
		return at, nil
	}
	at.settings = path
	var settings resource
	if settings.raw, settings.answer, err = r.client.Optional(ctx, path); err != nil {
		return at, err
	}
	if boot, malformed := settings.boot(); malformed == nil && has(boot) {
		at.resource = settings
	}
	return at, nil
}

// bootNeeds returns what the BMC of a system needs.
func (r *redfishConnection) bootNeeds(system resource) bootNeeds {
	vendor, _ := r.root.at("Vendor").(string) // of another type, it tells nothing
	return bootNeedsOf(vendor, system.raw.Text("Manufacturer"), system.raw.Text("Model"))
}

// setBootDevice sends the requests for a boot device that wantedBoot has, until one is accepted and applied. Another
// boot mode that the BMC shows then is no reason for a further one.
func (r *redfishConnection) setBootDevice(ctx context.Context, device bootDevice, persistent bool) (kept bool, err error) {
	if device.target == "" {
		return false, failure.Unsupportedf("Redfish has no boot device %q", device.word)
	}
	system, err := r.readSystem(ctx)
	if err != nil {
		return false, err
	}
	at, err := r.bootSettings(ctx, system, hasTarget)
	if err != nil {
		return false, err
	}
	wanted, err := at.want(device, persistent, r.bootMode, r.bootNeeds(system))
	if err != nil {
		return false, err
	}
	for _, enabled := range wanted.enabled {
		now, _ := at.boot() // it was read before
		err = r.requestBoot(ctx, &at, wanted.request(enabled, now))
		if err == nil || errors.Is(err, ErrBootMode) {
			return enabled == continuous, err
		}
		if r.client.Ended() != nil {
			break
		}
	}
	return false, err
}

// setBootMode sends the request for a boot mode, in Redfish's words, unless the system has it.
func (r *redfishConnection) setBootMode(ctx context.Context, mode string) error {
	system, err := r.readSystem(ctx)
	if err != nil {
		return err
	}
	at, err := r.bootSettings(ctx, system, hasMode)
	if err != nil {
		return err
	}
	var has struct {
		boot
		Modes []string `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
	}
	switch err := at.raw.Get("Boot", &has); {
	case err != nil:
		return err
	case has.Mode == "":
		return failure.Unsupportedf("the system does not report its boot mode")
	case has.Mode == mode:
		return nil
	case len(has.Modes) > 0 && !slices.Contains(has.Modes, mode):
		return failure.Unsupportedf("the system has the boot modes %q and not %q", has.Modes, mode)
	}
	whole := boot{Target: has.Target, Enabled: has.Enabled, Mode: mode}
	needs, request := r.bootNeeds(system), bootRequest{change: boot{Mode: mode}, whole: whole}
	if needs.whole {
		request.change = whole
	}
	a, err := r.changeBoot(ctx, &at, request)
	if needs.mode && a != nil && a.Status == http.StatusBadRequest { // blades of Supermicro accept no mode alone
		_, err = r.changeBoot(ctx, &at, bootRequest{change: whole, whole: whole})
	}
	return err
}
