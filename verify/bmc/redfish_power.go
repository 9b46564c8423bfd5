// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// resetTypes has Redfish's ResetType of each request, and the PowerState in which nothing is left to do.
//
// Source: SET_POWER_STATE_MAP in ironic/drivers/modules/redfish/power.py.
var resetTypes = map[reset]struct {
	kind, done string
}{
	resetOn:         {"On", "On"},
	resetOff:        {"ForceOff", "Off"},
	resetSoft:       {"GracefulShutdown", "Off"},
	resetCycle:      {"ForceRestart", ""},
	resetSoftReboot: {"GracefulRestart", ""},
	resetNMI:        {"Nmi", ""},
}

// setPower resets the system, unless it is in the power state already. The action has no If-Match: some BMCs, such as
// an iDRAC 10, compare it with another resource than the system.
//
// Source: _set_power_state in ironic/drivers/modules/redfish/power.py, for the repetition.
func (r *redfishConnection) setPower(ctx context.Context, kind reset) (sent bool, err error) {
	system, err := r.readSystem(ctx)
	if err != nil {
		return false, err
	}
	var power string
	if err := system.raw.Get("PowerState", &power); err != nil {
		return false, err
	}
	wanted := resetTypes[kind]
	if power != "" && strings.EqualFold(power, wanted.done) {
		return false, nil
	}
	target, allowed, err := r.resetAction(ctx, system)
	switch {
	case err != nil:
		return false, err
	case len(allowed) > 0 && !slices.Contains(allowed, wanted.kind):
		return false, failure.Unsupportedf("the system has the reset types %q and not %q", allowed, wanted.kind)
	}
	body, err := json.Marshal(map[string]string{"ResetType": wanted.kind})
	if err != nil {
		return false, err
	}
	request := redfish.Request{Method: http.MethodPost, Path: target, Body: body}
	if kind == resetOn { // an iDRAC that has just switched its machine off refuses it for a while
		request.Repeat = []int{http.StatusConflict}
	}
	a, err := r.client.Do(ctx, request)
	listed, restart := len(allowed) > 0, kind == resetCycle || kind == resetSoftReboot
	if err != nil && a != nil && refusesType(a, listed) && (!listed || restart) {
		err = failure.Unsupportedf("the system does not have the reset type %q: %v", wanted.kind, err)
	}
	return true, err
}

// refusesType reports whether an answer says that an action does not have the value of its parameter. Firmware of IBM
// lists ForceRestart all the same: a restart then takes another way. A type that is not listed may also be refused by
// the word for an action that the state of the machine does not allow.
//
// Source: the message IDs of DMTF's base registry, DSP8011; pull requests 157 and 522 of
// github.com/ibm-openbmc/bmcweb.
func refusesType(a *redfish.Answer, listed bool) bool {
	ids := []string{"ValueNotInList", "ParameterNotSupported", "ActionParameterUnknown"}
	if !listed {
		ids = append(ids, "ActionNotSupported")
	}
	return a.Says(ids...)
}

// resetAction returns the path of the system's reset, and the ResetTypes that it has, none if the BMC does not list
// them.
func (r *redfishConnection) resetAction(ctx context.Context, s resource) (target string, allowed []string, err error) {
	var actions struct {
		Reset struct {
			Target  string   `json:"target"`
			Allowed []string `json:"ResetType@Redfish.AllowableValues"`
			Info    string   `json:"@Redfish.ActionInfo"`
		} `json:"#ComputerSystem.Reset"`
	}
	if err := s.raw.Get("Actions", &actions); err != nil {
		return "", nil, err
	}
	if actions.Reset.Target == "" {
		return "", nil, failure.Unsupportedf("the system cannot be reset")
	}
	if target, err = r.client.Follow(s.answer.Request.Path, actions.Reset.Target); err != nil {
		return "", nil, err
	}
	info, unknown := r.client.Follow(s.answer.Request.Path, actions.Reset.Info)
	if len(actions.Reset.Allowed) > 0 || unknown != nil {
		return target, actions.Reset.Allowed, nil
	}
	found, _, err := r.client.Optional(ctx, info)
	var parameters []struct {
		Name            string
		AllowableValues []string
	}
	_ = found.Get("Parameters", &parameters)
	for _, p := range parameters {
		if p.Name == "ResetType" {
			allowed = p.AllowableValues
		}
	}
	return target, allowed, err
}
