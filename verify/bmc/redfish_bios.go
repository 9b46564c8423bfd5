// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// bios is a Bios resource with its settings.
type bios struct {
	schemas.Bios
	resource
	settings []BIOSSetting
	entries  map[string]registered // of the registry
}

func (r *reader) readBIOS() (b *bios, err error) {
	at := r.link("Bios")
	if at == "" {
		return nil, failure.Unsupportedf("the system has no BIOS settings")
	}
	b = new(bios)
	b.resource, err = r.get(r.ctx, at, &b.Bios)
	return b, err
}

// bios reads the BIOS settings with their registry.
func (r *reader) bios() (*bios, error) {
	b, err := r.readBIOS()
	if err != nil {
		return nil, err
	}
	b.entries = r.registry(b.AttributeRegistry)
	if err := r.over(); err != nil {
		return nil, err
	}
	values := map[string]any{}
	var sent map[string]any
	_ = b.raw.Get("Attributes", &sent) // of another type, it has no names
	for name, value := range sent {
		if value == nil { // as BMCs show a password; package guard removes it
			values[name] = nil
		}
	}
	kept, _ := b.at("Attributes").(map[string]any)
	maps.Copy(values, kept)
	for name, value := range sorted.All(values) {
		setting := b.entries[name].settingOf(value)
		switch value.(type) {
		case nil, string, bool, json.Number:
			setting.Name, setting.Value = name, value
			b.settings = append(b.settings, setting)
		}
	}
	return b, nil
}

// setBIOS sends values unless the machine has all of them, also for its next boot. It reports whether it has sent them.
func (r *reader) setBIOS(values map[string]any) (sent bool, err error) {
	b, err := r.bios()
	if err != nil {
		return false, err
	}
	for _, s := range b.settings {
		if value, ok := values[s.Name]; ok && s.IsSecret() {
			r.hide(fmt.Sprint(value)) // a refusal may repeat it
		}
	}
	attributes, err := b.attributes(values, r.anyBIOS)
	if err != nil {
		return false, err
	}
	changed, target, err := r.changedBIOS(b)
	if err != nil {
		return false, err
	}
	now, _ := b.at("Attributes").(map[string]any)
	done := true
	for name, value := range attributes {
		next, pending := changed[name]
		done = done && now[name] == value && (!pending || next == value)
	}
	if done {
		return false, nil
	}
	change := map[string]any{"Attributes": attributes}
	if slices.Contains(b.AllowedAttributeUpdateApplyTimes(), "OnReset") && b.at("@Redfish.Settings", "SupportedApplyTimes") != nil {
		change["@Redfish.SettingsApplyTime"] = map[string]string{"ApplyTime": "OnReset"}
	}
	err = r.client.Change(r.ctx, target, change)
	return err == nil, err
}

// changedBIOS returns the attributes of the settings object, nil if there is none, and where to change them. A Gigabyte
// has the annotation without a link, and its settings object where firmware of AMI has it.
//
// Source: issue 6433 of github.com/ansible-collections/community.general, pull request 57 of
// github.com/DMTF/Redfish-Tacklebox.
func (r *reader) changedBIOS(b *bios) (changed map[string]any, target *redfish.Answer, err error) {
	at := b.link("@Redfish.Settings", "SettingsObject")
	guessed := at == "" && b.at("@Redfish.Settings") != nil
	if guessed {
		at = b.unlinkedSettings()
	}
	if at == "" {
		return nil, b.answer, nil
	}
	settings, err := r.get(r.ctx, at, new(schemas.Bios))
	if err != nil {
		if guessed && r.over() == nil {
			return nil, b.answer, nil
		}
		return nil, nil, err
	}
	changed, _ = settings.at("Attributes").(map[string]any)
	return changed, settings.answer, nil
}

// attributes returns values in the types of the settings. It leaves out a read-only one that is in force. Others are
// refused, unless the values have a setting by which the registry decides whether it is read-only.
func (b *bios) attributes(values map[string]any, unregistered bool) (map[string]any, error) {
	typed := make(map[string]any, len(values))
	for name, value := range sorted.All(values) {
		i := slices.IndexFunc(b.settings, func(s BIOSSetting) bool { return s.Name == name })
		if i < 0 {
			return nil, failure.Unsupportedf("the system has no BIOS setting %q", name)
		}
		s := &b.settings[i]
		if s.AttributeType == "" && !unregistered {
			return nil, failure.Unsupportedf("the BMC has no registry with the BIOS setting %q, so that its value cannot be checked", name)
		}
		set, err := s.typed(value)
		isSet := func(other string) bool { _, ok := values[other]; return ok }
		switch {
		case s.ReadOnly == nil || !*s.ReadOnly || slices.ContainsFunc(b.entries[name].readOnlyBy, isSet):
		case err == nil && set == s.Value:
			continue
		default:
			err = errors.New("it is read-only")
		}
		if err != nil {
			return nil, &failure.Error{Kind: verify.Misconfigured, Text: fmt.Sprintf("the BIOS setting %s: %v", name, err)}
		}
		typed[name] = set
	}
	return typed, nil
}
