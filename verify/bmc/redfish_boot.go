// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
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
		if r.ended() {
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

// requestBoot sends a request for a boot override, and confirms it unless a task carries it out later. A BMC that says
// that it needs a reset of the machine may show what it has shown before: ResetRequired of DMTF's base registry
// (DSP8011), or an iLO's SystemResetRequired. It may say so of the boot mode alone.
func (r *redfishConnection) requestBoot(ctx context.Context, at *bootResource, q bootRequest) error {
	a, err := r.changeBoot(ctx, at, q)
	if err != nil || a.Status == http.StatusAccepted {
		return err
	}
	if bytes.Contains(a.Body, []byte("ResetRequired")) {
		before, _ := at.boot() // of another type, it contradicts nothing afterwards
		q.until = &before
	}
	return r.confirmBoot(ctx, at, q)
}

// confirmBoot returns an error for a boot override that the BMC has accepted and contradicts: it sends the boot
// override once more, and whole, and reads it again after a pause. Ironic does not read it, and waits in vain for a
// machine that has booted another device. A boot override is for the next boot: a BMC that shows it only after that,
// and does not say so, cannot be told from one that has dropped it.
//
// Source: pull request 459 of github.com/bmc-toolbox/bmclib, for a Supermicro.
func (r *redfishConnection) confirmBoot(ctx context.Context, at *bootResource, q bootRequest) error {
	failed, err := r.contradiction(ctx, at, q)
	if failed == nil {
		return err
	}
	_, refused := r.changeBoot(ctx, at, bootRequest{change: q.repeated, whole: q.repeated})
	if r.client.Refused() {
		return refused
	}
	if r.client.Lost() == nil && retry.Wait(ctx, r.pause, 1, failed) {
		if failed, err = r.contradiction(ctx, at, q); failed == nil {
			return err
		}
	}
	if refused != nil {
		failed.Text += "; then " + refused.Error()
	}
	if lost := r.client.Lost(); lost != nil {
		unknown := failure.Of(lost)
		failed.Kind, failed.Cause = unknown.Kind, unknown.Cause
	}
	return failed
}

// contradiction reads what the BMC shows of a boot override that it has accepted, and leaves the resource as it was
// read. It returns failed if that contradicts the boot override, and err if the BMC refuses the credentials. What
// cannot be read contradicts nothing, nor does a settings object if the system itself shows the boot override: it may
// be idle again.
func (r *redfishConnection) contradiction(ctx context.Context, at *bootResource, q bootRequest) (failed *failure.Error, err error) {
	raw, a, err := r.client.Get(ctx, at.answer.Request.Path)
	if r.client.Refused() {
		return nil, err
	}
	shown, unread := resource{raw: raw}.boot()
	cause := q.contradiction(shown)
	if err != nil || unread != nil || cause == nil {
		return nil, nil
	}
	at.raw, at.answer = raw, a
	if other := at.other(); other == at.system && r.shows(ctx, other, q.repeated) {
		return nil, nil
	}
	failed = failure.Protocolf("the BMC has accepted the boot override %q in the mode %q, and shows %q in the mode %q",
		q.repeated.Enabled, q.repeated.Mode, shown.Enabled, shown.Mode)
	failed.Cause = cause
	if q.isOlder(shown) {
		failed.Text += fmt.Sprintf(", with the target %q in place of %q", *shown.Target, *q.repeated.Target)
	}
	return failed, nil
}

// shows reports whether a resource has a boot override.
func (r *redfishConnection) shows(ctx context.Context, path string, wanted boot) bool {
	raw, _, _ := r.client.Get(ctx, path) // one that cannot be read shows none
	shown, _ := resource{raw: raw}.boot()
	return shown.Target != nil && *shown.Target == *wanted.Target && shown.Enabled == wanted.Enabled &&
		(wanted.Mode == "" || shown.Mode == "" || shown.Mode == wanted.Mode)
}

// transient are the statuses after which a change of the boot override is repeated: a BMC that fails for the moment may
// well boot a device continuously.
var transient = []int{
	http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// changeBoot sends a request for a boot override. If it is read-only in the resource, changeBoot changes the other one
// of system and settings object, which then is the resource.
//
// Source: pull request 461 of github.com/bmc-toolbox/bmclib, for an iDRAC 10; issue 144 of
// github.com/DMTF/Redfish-Tacklebox, for firmware of AMI.
func (r *redfishConnection) changeBoot(ctx context.Context, at *bootResource, q bootRequest) (*redfish.Answer, error) {
	a, err := r.patchBoot(ctx, at.resource, q)
	if a == nil || !isReadOnly(a) {
		return a, err
	}
	var other resource
	var unread error
	other.raw, other.answer, unread = r.client.Get(ctx, at.other())
	switch {
	case r.client.Lost() != nil:
		return nil, unread
	case unread != nil:
		return a, err
	}
	now, _ := other.boot() // of another type, it has another value
	there, refused := r.patchBoot(ctx, other, q.elsewhere(now))
	switch {
	case r.ended():
		return there, refused
	case refused != nil:
		both := failure.Of(refused)
		both.Text += "; before that: " + err.Error() // it only says that the boot override is set elsewhere
		return a, both
	}
	at.resource = other
	return there, nil
}

// isReadOnly reports whether a refusal says that the resource, or a property of it, cannot be changed there.
func isReadOnly(a *redfish.Answer) bool {
	says := func(text string) bool { return bytes.Contains(a.Body, []byte(text)) }
	return a.Status == http.StatusMethodNotAllowed ||
		a.Status == http.StatusBadRequest && (says("PropertyNotWritable") || says("OperationSupportedInFutureStateURI"))
}

// patchBoot sends a change of the boot override, and all of it after a refusal for the want of a property.
func (r *redfishConnection) patchBoot(ctx context.Context, at resource, q bootRequest) (*redfish.Answer, error) {
	a, err := r.client.Patch(ctx, at.answer, map[string]boot{"Boot": q.change}, transient...)
	if a == nil || a.Status != http.StatusBadRequest || !q.change.lacks(a.Body) {
		return a, err
	}
	return r.client.Patch(ctx, at.answer, map[string]boot{"Boot": q.whole}, transient...)
}
