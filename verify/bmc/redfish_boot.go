// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
)

func (r *redfishConnection) bootDevice(ctx context.Context) (device string, persistent bool, err error) {
	if err := r.checkManagement(ctx); err != nil {
		return "", false, err
	}
	boot, err := r.guard.system.boot()
	if err != nil || boot.Enabled == "Disabled" {
		return "", false, err
	}
	for _, b := range bootDevices {
		if b.target == *boot.Target && b.target != "" {
			return b.word, boot.Enabled == "Continuous", nil
		}
	}
	return "", false, nil
}

// setBootDevice calls bmclib, whose words for the devices are Ironic's. The guard does
// not pass on the other properties that bmclib sends.
func (r *redfishConnection) setBootDevice(ctx context.Context, device bootDevice, persistent bool) error {
	if device.target == "" {
		return failure.Unsupportedf("Redfish has no boot device %q", device.word)
	}
	return r.guard.call(ctx, func() error {
		_, err := r.driver.BootDeviceSet(ctx, device.word, persistent, false)
		return err
	})
}

// serveBoot sets the boot override. If that fails, the driver tries again with fewer
// properties. serveBoot answers this with the failure of the first attempt, which sent
// the BMC no other properties.
func (g *redfishGuard) serveBoot(req *http.Request) (*http.Response, error) {
	if g.bootFailed != nil {
		return nil, g.bootFailed
	}
	var asked struct{ Boot boot }
	if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
		return nil, err
	}
	if g.bootFailed = g.setBoot(asked.Boot); g.bootFailed != nil {
		return nil, g.bootFailed
	}
	return respond(req, http.StatusOK, map[string]any{})
}

// redfishModes maps Config.BootMode to Redfish's words.
var redfishModes = map[string]string{biosMode: "Legacy", uefiMode: "UEFI"}

// setBoot sets the target of the boot override and the boot mode. It sends BootSourceOverrideEnabled only
// if that differs from the system's value, because some BMCs refuse a value that they
// already have. Supermicro's BMCs always require it.
//
// Source: _set_boot_device in ironic/drivers/modules/redfish/management.py; for the boot mode,
// sync_boot_mode in ironic/drivers/modules/boot_mode_utils.py.
func (g *redfishGuard) setBoot(want boot) error {
	if err := g.system.checkBoot(want); err != nil {
		return err
	}
	now, err := g.system.boot()
	if err != nil {
		return err
	}
	var manufacturer string
	_ = g.system.Get("Manufacturer", &manufacturer)
	change := boot{Target: want.Target}
	if now.Enabled != want.Enabled || strings.EqualFold(manufacturer, "Supermicro") {
		change.Enabled = want.Enabled
	}
	if mode := g.bootMode; mode != "" && now.Mode != "" && now.Mode != mode {
		change.Mode = mode
	}
	return g.client.Change(g.ctx, g.system.answer, map[string]boot{"Boot": change})
}

// checkBoot returns an error if the system's description shows that it does not support
// the wanted boot override.
func (s *system) checkBoot(want boot) error {
	var has struct {
		Targets []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		Enabled []string `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	}
	if _, ok := s.Object["Boot"]; !ok || want.Target == nil {
		return failure.Unsupportedf("the system has no boot override")
	}
	if err := s.Get("Boot", &has); err != nil {
		return err
	}
	if len(has.Targets) > 0 && !slices.Contains(has.Targets, *want.Target) {
		return failure.Unsupportedf("the system has the boot targets %q and not %q", has.Targets, *want.Target)
	}
	if len(has.Enabled) > 0 && !slices.Contains(has.Enabled, want.Enabled) {
		return failure.Unsupportedf("the system has boot overrides that are %q and not %q", has.Enabled, want.Enabled)
	}
	return nil
}
