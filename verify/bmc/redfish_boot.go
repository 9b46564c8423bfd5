// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/verify/bmc/internal/again"
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
	if err == nil && now.Enabled == "Disabled" { // perhaps it is set and not in force yet
		var settings bootResource
		if settings, err = r.bootSettings(ctx, system, hasTarget); err == nil {
			now, err = settings.boot()
		}
		if err == nil && settings.other() == settings.settings { // changeBoot may have set it there
			var other resource
			other.raw, _, _ = r.client.Get(ctx, settings.settings) // one that cannot be read has no boot override
			there, malformed := other.boot()
			if malformed == nil && there.Target != nil && (there.Enabled == once || there.Enabled == continuous) {
				now = there
			}
			err = r.client.Lost()
		}
	}
	if err != nil || now.Enabled == "Disabled" {
		return "", false, err
	}
	for _, b := range bootDevices {
		if b.is(*now.Target) {
			return b.word, now.Enabled == continuous, nil
		}
	}
	return "", false, nil
}

// redfishModes maps Config.BootMode to Redfish's words.
var redfishModes = map[string]string{biosMode: "Legacy", uefiMode: "UEFI"}

// The words of BootSourceOverrideEnabled.
const (
	once       = "Once"
	continuous = "Continuous"
)

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

// bootNeeds returns what the BMC of a system needs.
func (r *redfishConnection) bootNeeds(system resource) (all bootNeeds) {
	manufacturer, model := system.lower("Manufacturer"), system.lower("Model")
	vendor, _ := r.root.at("Vendor").(string) // of another type, it tells nothing
	vendor = strings.ToLower(vendor)
	for _, q := range bootQuirks {
		named := slices.ContainsFunc(q.manufacturers, func(name string) bool {
			is := func(has string) bool { return name == has || q.inName && strings.Contains(" "+has+" ", " "+name+" ") }
			return is(manufacturer) || !q.ofSystem && is(vendor)
		})
		if named && (q.exceptModel == "" || q.exceptModel != model) {
			all = bootNeeds{all.whole || q.whole, all.enabled || q.enabled, all.mode || q.mode, all.usbCD || q.usbCD}
		}
	}
	return all
}

// lower returns a text of the system in lower case, "" if the BMC does not report it.
func (s resource) lower(property string) string {
	var text string
	_ = s.raw.Get(property, &text)
	return strings.ToLower(text)
}

// setBootDevice sets the target of the boot override and the boot mode. It sends BootSourceOverrideEnabled only if that
// differs from the system's value, because some BMCs refuse a value that they already have. Supermicro's BMCs always
// require it, and the boot mode, unless they report none: they refuse it then. A BMC that boots no device continuously,
// refuses to, or shows another value afterwards, boots it once. Without the address that was set for an earlier
// UefiHttp, the machine learns one by DHCP. See insistOnBoot for a BMC that accepts a change and does not make it.
//
// Source: _set_boot_device in ironic/drivers/modules/redfish/management.py; for the boot mode,
// sync_boot_mode in ironic/drivers/modules/boot_mode_utils.py; for the address, set_system_boot_options in
// sushy/resources/system/system.py.
func (r *redfishConnection) setBootDevice(ctx context.Context, device bootDevice, persistent bool) (kept bool, err error) {
	if device.target == "" {
		return false, failure.Unsupportedf("Redfish has no boot device %q", device.word)
	}
	found, err := r.readSystem(ctx)
	if err != nil {
		return false, err
	}
	settings, err := r.bootSettings(ctx, found, hasTarget)
	if err != nil {
		return false, err
	}
	needs := r.bootNeeds(found)
	target, words, err := settings.checkBoot(device, persistent, needs.usbCD)
	if err != nil {
		return false, err
	}
	now, err := settings.boot()
	if err != nil {
		return false, err
	}
	before := now
	for _, word := range words {
		whole := boot{Target: &target, Enabled: word, Mode: cmp.Or(r.bootMode, now.Mode, redfishModes[uefiMode])}
		change := boot{Target: &target}
		if uri := string(now.HTTPURI); device.word == "uefihttp" && !slices.Contains([]string{"", "null", `""`}, uri) {
			change.HTTPURI, whole.HTTPURI = json.RawMessage("null"), json.RawMessage("null")
		}
		if now.Enabled != word || needs.enabled {
			change.Enabled = word
		}
		if mode := cmp.Or(r.bootMode, now.Mode); now.Mode != "" && (now.Mode != mode || needs.mode) {
			change.Mode = mode
		}
		var answer *redfish.Answer
		if answer, err = r.changeBoot(ctx, &settings, needs.whole, change, whole); err == nil {
			if answer.Status == http.StatusAccepted { // a task carries it out
				return word == continuous, nil
			}
			if now.Mode == "" && !needs.whole {
				whole.Mode = ""
			}
			err = r.insistOnBoot(ctx, &settings, whole, func(shown boot) error {
				mode := cmp.Or(r.bootMode, change.Mode)
				switch {
				case shown.Enabled == "Disabled", word == continuous && shown.Enabled == once:
					return errDropped
				case mode != "" && shown.Mode != "" && shown.Mode != mode && (before.Mode == mode || needs.mode):
					return ErrBootMode
				}
				return nil
			})
		}
		if err == nil || errors.Is(err, ErrBootMode) {
			return word == continuous, err
		}
		if r.client.Lost() != nil || r.client.Refused() {
			return false, err
		}
		now, _ = settings.boot() // it was read before
	}
	return false, err
}

// insistOnBoot reads what the BMC shows of a boot override that it has accepted. If that contradicts it, insistOnBoot
// sends the boot override once more, and whole, and returns an error if the BMC still shows a contradiction after a
// pause. What the BMC does not show contradicts nothing, nor does a boot mode that stays as it was: an iDRAC changes it
// by a job while the machine boots. A settings object contradicts nothing that the system itself shows: it may be idle
// again. insistOnBoot leaves the resource as it was read last.
//
// Source: pull request 459 of github.com/bmc-toolbox/bmclib, for a Supermicro; issue 81 of
// github.com/ironcore-dev/metal-operator, for the iDRAC.
func (r *redfishConnection) insistOnBoot(
	ctx context.Context, settings *bootResource, wanted boot, contradiction func(shown boot) error,
) error {
	var refused error // of the second request
	for first := true; ; first = false {
		raw, a, err := r.client.Get(ctx, settings.answer.Request.Path)
		if r.client.Refused() {
			return err
		}
		shown, unread := resource{raw: raw}.boot()
		if err != nil || unread != nil || contradiction(shown) == nil {
			return nil
		}
		settings.raw, settings.answer = raw, a
		if other := settings.other(); other == settings.system && r.shows(ctx, other, wanted) {
			return nil
		}
		failed := failure.Protocolf("the BMC has accepted the boot override %q in the mode %q, and shows %q in the mode %q",
			wanted.Enabled, wanted.Mode, shown.Enabled, shown.Mode)
		failed.Cause = contradiction(shown)
		if first {
			_, refused = r.changeBoot(ctx, settings, true, wanted, wanted)
		}
		if refused != nil {
			failed.Text += "; then " + refused.Error()
		}
		if !first || r.client.Refused() || !again.After(ctx, r.pause, 1, failed) {
			return failed
		}
	}
}

// shows reports whether a resource has a boot override.
func (r *redfishConnection) shows(ctx context.Context, path string, wanted boot) bool {
	raw, _, err := r.client.Get(ctx, path)
	shown, unread := resource{raw: raw}.boot()
	return err == nil && unread == nil && shown.Target != nil && *shown.Target == *wanted.Target && shown.Enabled == wanted.Enabled &&
		(wanted.Mode == "" || shown.Mode == "" || shown.Mode == wanted.Mode)
}

const errDropped = failure.Reason("the BMC has dropped the boot override")

// transient are the statuses after which a change of the boot override is repeated: a BMC that fails for the moment may
// well boot a device continuously.
var transient = []int{
	http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// changeBoot changes some properties of the boot override, or all where the BMC needs them. If it is read-only in the
// resource, changeBoot changes the other one of system and settings object, which then is the resource.
//
// Source: pull request 461 of github.com/bmc-toolbox/bmclib, for an iDRAC 10; issue 144 of
// github.com/DMTF/Redfish-Tacklebox, for firmware of AMI.
func (r *redfishConnection) changeBoot(ctx context.Context, at *bootResource, needsWhole bool, some, whole boot) (*redfish.Answer, error) {
	if needsWhole {
		some = whole
	}
	a, err := r.patchBoot(ctx, at.resource, some, whole)
	if a == nil || !isReadOnly(a) {
		return a, err
	}
	var other resource
	var unread error
	if other.raw, other.answer, unread = r.client.Get(ctx, at.other()); unread != nil {
		return a, err
	}
	if now, _ := other.boot(); some.Target != nil && now.Enabled != whole.Enabled { // of another type, it has another value
		some.Enabled = whole.Enabled
	}
	there, refused := r.patchBoot(ctx, other, some, whole)
	if refused != nil {
		return a, err
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

// patchBoot sends some properties of the boot override, and all after a refusal for the want of others.
func (r *redfishConnection) patchBoot(ctx context.Context, at resource, some, whole boot) (*redfish.Answer, error) {
	a, err := r.client.Patch(ctx, at.answer, map[string]boot{"Boot": some}, transient...)
	if a == nil || a.Status != http.StatusBadRequest || !some.lacks(a.Body) {
		return a, err
	}
	return r.client.Patch(ctx, at.answer, map[string]boot{"Boot": whole}, transient...)
}

// lacks reports whether a refusal names a property that was not sent.
func (b boot) lacks(refusal []byte) bool {
	names := func(property string) bool { return bytes.Contains(refusal, []byte("BootSourceOverride"+property)) }
	return b.Target == nil && names("Target") || b.Enabled == "" && names("Enabled") || b.Mode == "" && names("Mode")
}

// checkBoot returns the system's word for the target of a device, and the supported values of
// BootSourceOverrideEnabled, preferred first. It returns an error if the system's description shows that it does not
// support the override.
func (s resource) checkBoot(device bootDevice, persistent, usbCD bool) (target string, words []string, err error) {
	var has struct {
		Targets []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		Enabled []string `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	}
	if _, ok := s.raw["Boot"]; !ok {
		return "", nil, failure.Unsupportedf("the system has no boot override")
	}
	if err := s.raw.Get("Boot", &has); err != nil {
		return "", nil, err
	}
	target, ok := device.targetOf(has.Targets, usbCD)
	if !ok {
		return "", nil, failure.Unsupportedf("the system has the boot targets %q and not %q", has.Targets, device.target)
	}
	all := []string{once}
	if persistent {
		all = []string{continuous, once}
	}
	words = slices.DeleteFunc(slices.Clone(all), func(word string) bool { return len(has.Enabled) > 0 && !slices.Contains(has.Enabled, word) })
	if len(words) == 0 {
		return "", nil, failure.Unsupportedf("the system has boot overrides that are %q and not %q", has.Enabled, all[0])
	}
	return target, words, nil
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
