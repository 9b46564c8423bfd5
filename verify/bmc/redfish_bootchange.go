// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/retry"
)

// requestBoot sends a request for a boot override, and confirms it unless a task carries it out later. A BMC that says
// that it needs a reset of the machine may show what it has shown before: ResetRequired of DMTF's base registry
// (DSP8011), or an iLO's SystemResetRequired. It may say so of the boot mode alone.
func (r *redfishConnection) requestBoot(ctx context.Context, at *bootResource, q bootRequest) error {
	a, err := r.changeBoot(ctx, at, q)
	if err != nil || a.Status == http.StatusAccepted {
		return err
	}
	if a.Says("ResetRequired") {
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
	if r.client.Ended() == nil && retry.Wait(ctx, r.pause, 1, failed) {
		if failed, err = r.contradiction(ctx, at, q); failed == nil {
			return err
		}
	}
	if refused != nil {
		failed.Text += "; then " + refused.Error()
	}
	return orEnded(failed, r.client.Ended())
}

// contradiction reads what the BMC shows of a boot override that it has accepted, and leaves the resource as it was
// read. It returns failed if that contradicts the boot override, and err if the BMC refuses the credentials. What
// cannot be read contradicts nothing, also without an answer: the BMC has accepted the change, after which Ironic reads
// nothing. Nor does a settings object if the system itself shows the boot override: it may be idle again.
func (r *redfishConnection) contradiction(ctx context.Context, at *bootResource, q bootRequest) (failed *failure.Error, err error) {
	raw, a, err := r.client.Get(ctx, at.answer.Request.Path)
	switch {
	case a == nil:
		return nil, nil
	case r.client.Ended() != nil:
		return nil, err
	}
	if ended := r.client.Recheck(ctx); ended != nil { // it has forbidden the read, and the system's, too
		return nil, ended
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
	raw, _, _ := r.client.Optional(ctx, path) // one that cannot be read shows none
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
	var ended error
	other.raw, other.answer, ended = r.client.Optional(ctx, at.other())
	switch {
	case ended != nil:
		return nil, ended
	case other.answer.Status != http.StatusOK, other.raw == nil: // a page for people, perhaps
		return a, err
	}
	now, _ := other.boot() // of another type, it has another value
	there, refused := r.patchBoot(ctx, other, q.elsewhere(now))
	switch {
	case r.client.Ended() != nil:
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
	return a.Status == http.StatusMethodNotAllowed ||
		a.Status == http.StatusBadRequest && a.Says("PropertyNotWritable", "OperationSupportedInFutureStateURI")
}

// patchBoot sends a change of the boot override, and all of it after a refusal for the want of a property.
func (r *redfishConnection) patchBoot(ctx context.Context, at resource, q bootRequest) (*redfish.Answer, error) {
	a, err := r.client.Patch(ctx, at.answer, map[string]boot{"Boot": q.change}, transient...)
	if a == nil || a.Status != http.StatusBadRequest || !q.change.lacks(a) {
		return a, err
	}
	return r.client.Patch(ctx, at.answer, map[string]boot{"Boot": q.whole}, transient...)
}
