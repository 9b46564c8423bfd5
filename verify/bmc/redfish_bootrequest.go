// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

// redfishModes maps Config.BootMode to Redfish's words.
var redfishModes = map[string]string{biosMode: "Legacy", uefiMode: "UEFI"}

// The words of BootSourceOverrideEnabled.
const (
	disabled   = "Disabled"
	once       = "Once"
	continuous = "Continuous"
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

// hasTarget and hasMode report whether a boot override has a property.
func hasTarget(b boot) bool { return b.Target != nil }

func hasMode(b boot) bool { return b.Mode != "" }

// bootNeeds is what a BMC needs in a request for a boot device.
type bootNeeds struct {
	whole   bool // all properties of the boot override in each request
	enabled bool // BootSourceOverrideEnabled even if it has the value already
	mode    bool // BootSourceOverrideMode beside each boot device, which otherwise sets the BMC's default
	usbCD   bool // the target UsbCd for virtual media, although the BMC may list Cd as well
}

// bootQuirks has what the BMCs need of some manufacturers, whose name is the system's manufacturer or the vendor of the
// BMC's firmware. All names are in lower case.
//
// Source: VENDORS_REQUIRING_FULL_BOOT_REQUEST, set_boot_device and detect_vendor in
// ironic/drivers/modules/redfish/management.py, and set_system_boot_options in sushy/resources/system/system.py; for
// the boot mode beside each boot device, also pull request 106 of github.com/DMTF/Redfishtool.
var bootQuirks = []struct {
	manufacturers []string
	inName        bool   // the words are part of the manufacturer's name, and not all of it
	ofSystem      bool   // the vendor of the firmware does not matter
	exceptModel   string // that does not need it; "" for none
	bootNeeds
}{
	{[]string{"american megatrends", "ami", "asrockrack", "asrock rack", "redfish_compatible"}, true, false, "", bootNeeds{whole: true}},
	{[]string{"supermicro"}, false, false, "", bootNeeds{enabled: true, mode: true}},
	{[]string{"supermicro"}, false, true, "ars-111gl-nhr", bootNeeds{usbCD: true}},
}

// bootNeedsOf returns what a BMC needs by the vendor of its firmware, and by the manufacturer and model of the system.
func bootNeedsOf(vendor, manufacturer, model string) (all bootNeeds) {
	vendor, manufacturer, model = strings.ToLower(vendor), strings.ToLower(manufacturer), strings.ToLower(model)
	for _, q := range bootQuirks {
		named := slices.ContainsFunc(q.manufacturers, func(name string) bool {
			is := func(has string) bool { return name == has || q.inName && strings.Contains(words(has), words(name)) }
			return is(manufacturer) || !q.ofSystem && is(vendor)
		})
		if named && (q.exceptModel == "" || q.exceptModel != model) {
			all = bootNeeds{all.whole || q.whole, all.enabled || q.enabled, all.mode || q.mode, all.usbCD || q.usbCD}
		}
	}
	return all
}

// words returns the words of a name with a space on each side, and without commas and the like.
func words(name string) string {
	all := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,()", r) })
	return " " + strings.Join(all, " ") + " "
}

// wantedBoot is a boot device that is wanted of a system, in the BMC's words.
type wantedBoot struct {
	device  bootDevice
	target  string
	enabled []string // the possible values of BootSourceOverrideEnabled, preferred first
	mode    string   // "" for any
	before  string   // the boot mode before the first request
	needs   bootNeeds
}

// want returns what to request of the system for a device, or an error if the system's description shows that it does
// not support the boot override. A BMC may boot no device continuously: then it boots the device once.
func (s resource) want(device bootDevice, persistent bool, mode string, needs bootNeeds) (w wantedBoot, err error) {
	var has struct {
		Targets []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		Enabled []string `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	}
	if _, ok := s.raw["Boot"]; !ok {
		return w, failure.Unsupportedf("the system has no boot override")
	}
	if err := s.raw.Get("Boot", &has); err != nil {
		return w, err
	}
	target, ok := device.targetOf(has.Targets, needs.usbCD)
	if !ok {
		return w, failure.Unsupportedf("the system has the boot targets %q and not %q", has.Targets, device.target)
	}
	all := []string{once}
	if persistent {
		all = []string{continuous, once}
	}
	enabled := slices.DeleteFunc(slices.Clone(all), func(word string) bool {
		return len(has.Enabled) > 0 && !slices.Contains(has.Enabled, word)
	})
	if len(enabled) == 0 {
		return w, failure.Unsupportedf("the system has boot overrides that are %q and not %q", has.Enabled, all[0])
	}
	now, err := s.boot()
	return wantedBoot{device, target, enabled, mode, now.Mode, needs}, err
}

// targetOf returns a system's word for a boot device, the last of several if usbCD.
func (b bootDevice) targetOf(allowed []string, usbCD bool) (word string, ok bool) {
	if len(allowed) == 0 {
		return b.target, true
	}
	words := append([]string{b.target}, b.others...)
	if usbCD {
		slices.Reverse(words)
	}
	for _, word := range words {
		if i := slices.IndexFunc(allowed, func(has string) bool { return strings.EqualFold(has, word) }); i >= 0 {
			return allowed[i], true
		}
	}
	return "", false
}

// bootRequest is a request for a boot override.
type bootRequest struct {
	change   boot   // the properties to send
	whole    boot   // all properties, which are sent after a refusal for the want of one
	repeated boot   // what is sent if the BMC has accepted the request and does not show it
	mode     string // the boot mode that the BMC has to show afterwards; "" for any
	older    string // the target of another device that the BMC must not show any more; "" for none
	until    *boot  // what the BMC may show until the machine's reset; nil for nothing
}

// request returns the request that the device be booted once or continuously, for a BMC that shows a boot override now.
// It has BootSourceOverrideEnabled only if that differs from what is shown, because some BMCs refuse a value that they
// already have. Supermicro's BMCs always require it, and the boot mode, unless they report none: they refuse it then.
// Without the address that was set for an earlier UefiHttp, the machine learns one by DHCP.
//
// A boot mode that the BMC was to change need not be shown: an iDRAC changes it by a job while the machine boots.
//
// Source: _set_boot_device in ironic/drivers/modules/redfish/management.py; for the boot mode,
// sync_boot_mode in ironic/drivers/modules/boot_mode_utils.py; for the address, set_system_boot_options in
// sushy/resources/system/system.py; issue 81 of github.com/ironcore-dev/metal-operator, for the iDRAC.
func (w wantedBoot) request(enabled string, now boot) bootRequest {
	mode := cmp.Or(w.mode, now.Mode)
	q := bootRequest{
		change: boot{Target: &w.target},
		whole:  boot{Target: &w.target, Enabled: enabled, Mode: cmp.Or(mode, redfishModes[uefiMode])},
	}
	if now.Enabled != enabled || w.needs.enabled {
		q.change.Enabled = enabled
	}
	if now.Mode != "" && (now.Mode != mode || w.needs.mode) {
		q.change.Mode = mode
	}
	if w.device.word == "uefihttp" && !slices.Contains([]string{"", "null", `""`}, string(now.HTTPURI)) {
		q.change.HTTPURI, q.whole.HTTPURI = json.RawMessage("null"), json.RawMessage("null")
	}
	if shown := cmp.Or(w.mode, q.change.Mode); shown == w.before || w.needs.mode {
		q.mode = shown
	}
	if target := now.Target; target != nil && *target != "None" && !w.device.is(*target) {
		q.older = *target
	}
	q.repeated = q.whole
	if w.needs.whole {
		q.change = q.whole
	} else if now.Mode == "" {
		q.repeated.Mode = ""
	}
	return q
}

// elsewhere returns the request for another resource, which shows a boot override now.
func (q bootRequest) elsewhere(now boot) bootRequest {
	if q.change.Target != nil && now.Enabled != q.whole.Enabled {
		q.change.Enabled = q.whole.Enabled
	}
	return q
}

const errNotApplied = failure.Reason("the BMC has not applied the boot override")

// contradiction returns an error if what the BMC shows after it has accepted the request contradicts it. A value that
// is not shown contradicts nothing.
func (q bootRequest) contradiction(shown boot) error {
	switch {
	case q.until != nil && reflect.DeepEqual(shown, *q.until):
		return nil
	case shown.Enabled == disabled, q.whole.Enabled == continuous && shown.Enabled == once, q.isOlder(shown):
		return errNotApplied
	case q.mode != "" && shown.Mode != "" && shown.Mode != q.mode:
		return ErrBootMode
	}
	return nil
}

// isOlder reports whether the BMC still shows the target of an earlier boot override.
func (q bootRequest) isOlder(shown boot) bool {
	return q.older != "" && shown.Target != nil && *shown.Target == q.older
}

// lacks reports whether a refusal names a property that was not sent.
func (b boot) lacks(refusal *redfish.Answer) bool {
	names := func(property string) bool { return refusal.Says("BootSourceOverride" + property) }
	return b.Target == nil && names("Target") || b.Enabled == "" && names("Enabled") || b.Mode == "" && names("Mode")
}
