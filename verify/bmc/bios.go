// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

// registryBytes bounds the body of a BIOS attribute registry, which describes some thousand
// attributes. It replaces Config.MaxAnswerBytes if that is less.
const registryBytes = 8 << 20

// BIOSSetting is an attribute of a system's BIOS, with the information that the BMC's attribute registry has
// about it. The JSON names are Ironic's. What the registry does not say is zero.
//
// Source: registry_fields in ironic/objects/bios.py; AttributeRegistry and Bios of DSP8010.
type BIOSSetting struct {
	Name            string   `json:"name"`
	Value           any      `json:"value"`                      // a string, a bool, a json.Number, or nil for null
	AttributeType   string   `json:"attribute_type,omitzero"`    // "String", "Integer", "Boolean", "Enumeration" or "Password"
	AllowableValues []string `json:"allowable_values,omitempty"` // of an Enumeration
	LowerBound      *int64   `json:"lower_bound,omitzero"`       // of an Integer
	UpperBound      *int64   `json:"upper_bound,omitzero"`
	MinLength       *int64   `json:"min_length,omitzero"` // of a String, in characters
	MaxLength       *int64   `json:"max_length,omitzero"`
	ReadOnly        *bool    `json:"read_only,omitzero"`
	ResetRequired   *bool    `json:"reset_required,omitzero"`
	Unique          *bool    `json:"unique,omitzero"` // of this system: not to be copied to another
}

// BIOS reads a node's BIOS settings over Redfish, in the order of their names. The error is of the
// kind [verify.Unsupported] if the BMC has none, and over IPMI. If only the registry cannot be
// read, the settings are without it, as in Ironic, and there is no error.
func (d *Driver) BIOS(ctx context.Context, id string) ([]BIOSSetting, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the BIOS settings", long: true}, func(r *reader) ([]BIOSSetting, error) {
		b, err := r.bios()
		if err != nil {
			return nil, err
		}
		return b.settings, nil
	})
}

// SetBIOS sets some of a node's BIOS settings. They take effect at the machine's next boot. The values have the type of
// the setting, or are its text: "30", "true". SetBIOS sends nothing and returns false if the machine has all values
// already and no other ones are pending. An unknown setting is an error of the kind [verify.Unsupported], and so is one
// without a registry unless [Config.AnyBIOSSetting] is set; a value that the registry excludes is one of the kind
// [verify.Misconfigured]. A read-only setting may have the value that it has, or be set beside the setting that makes
// it read-only.
//
// Source: apply_configuration in ironic/drivers/modules/redfish/bios.py.
func (d *Driver) SetBIOS(ctx context.Context, id string, values map[string]any) (sent bool, err error) {
	return fromSystem(ctx, d, call{id: id, op: "set the BIOS settings", long: true}, func(r *reader) (bool, error) {
		b, err := r.bios()
		if err != nil {
			return false, err
		}
		for _, s := range b.settings {
			if value, ok := values[s.Name]; ok && s.IsSecret() {
				r.hide(fmt.Sprint(value)) // a refusal may repeat it
			}
		}
		attributes, err := b.typed(values, r.anyBIOS)
		if err != nil {
			return false, err
		}
		now, pending, target, err := r.pendingBIOS(b)
		if err != nil {
			return false, err
		}
		done := true
		for name, value := range attributes {
			done = done && now[name] == value && pending[name] == value
		}
		if done {
			return false, nil
		}
		change := map[string]any{"Attributes": attributes}
		if slices.Contains(b.AllowedAttributeUpdateApplyTimes(), schemas.OnResetApplyTime) &&
			b.at("@Redfish.Settings", "SupportedApplyTimes") != nil {
			change["@Redfish.SettingsApplyTime"] = map[string]string{"ApplyTime": string(schemas.OnResetApplyTime)}
		}
		err = r.client.Change(r.ctx, target, change)
		return err == nil, err
	})
}

// PendingBIOS reads the values of a node's BIOS settings that take effect at the machine's next boot. Some BMCs have
// those alone that were changed, until the machine has them, and others all settings that can be changed. It returns
// the errors of [Driver.BIOS], and nothing if the BMC has no settings object.
func (d *Driver) PendingBIOS(ctx context.Context, id string) (map[string]any, error) {
	return fromSystem(ctx, d, call{id: id, op: "read the pending BIOS settings"}, func(r *reader) (map[string]any, error) {
		b, err := r.readBIOS()
		if err != nil {
			return nil, err
		}
		changed, _, err := r.changedBIOS(b)
		return changed, err
	})
}

// ResetBIOS resets a node's BIOS settings to the factory settings, at the machine's next boot.
// It returns the errors of [Driver.BIOS]; a BMC without the action has the kind [verify.Unsupported].
func (d *Driver) ResetBIOS(ctx context.Context, id string) error {
	return d.withSystem(ctx, call{id: id, op: "reset the BIOS settings", long: true}, func(r *reader) error {
		b, err := r.readBIOS()
		if err != nil {
			return err
		}
		target := b.target("#Bios.ResetBios")
		if target == "" {
			return failure.Unsupportedf("the BIOS settings cannot be reset")
		}
		_, err = r.client.Do(r.ctx, redfish.Request{Method: http.MethodPost, Path: target, Body: []byte("{}")})
		return err
	})
}

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
	if err := r.client.Lost(); err != nil {
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

// pendingBIOS returns the attributes that are in force and those that are pending, and where
// to change them: in the settings object, or in the Bios resource if there is none.
func (r *reader) pendingBIOS(b *bios) (now, pending map[string]any, target *redfish.Answer, err error) {
	now, _ = b.at("Attributes").(map[string]any)
	changed, target, err := r.changedBIOS(b)
	if err != nil {
		return nil, nil, nil, err
	}
	pending = map[string]any{}
	maps.Copy(pending, now)
	maps.Copy(pending, changed)
	return now, pending, target, nil
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
		at = strings.TrimSuffix(b.answer.Request.Path, "/") + "/SD"
	}
	if at == "" {
		return nil, b.answer, nil
	}
	settings, err := r.get(r.ctx, at, new(schemas.Bios))
	if err != nil {
		if guessed && !r.ended() {
			return nil, b.answer, nil
		}
		return nil, nil, err
	}
	changed, _ = settings.at("Attributes").(map[string]any)
	return changed, settings.answer, nil
}

// typed returns values in the types of the settings. It leaves out a read-only one that is in force. Others are
// refused, unless the values have a setting by which the registry decides whether it is read-only.
func (b *bios) typed(values map[string]any, unregistered bool) (map[string]any, error) {
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

// IsSecret reports whether the setting is a password, which the BMC does not show. A setting that is null counts as one
// if the registry does not have it.
func (s *BIOSSetting) IsSecret() bool {
	return s.AttributeType == "Password" || s.AttributeType == "" && s.Value == nil
}

// typed returns a value in the setting's type: the registry's, or else the type of its present value. Null stays null.
func (s *BIOSSetting) typed(value any) (any, error) {
	text := fmt.Sprint(value)
	kind := s.AttributeType
	if kind == "" {
		switch s.Value.(type) {
		case bool:
			kind = string(schemas.BooleanAttributeType)
		case json.Number:
			kind = string(schemas.IntegerAttributeType)
		}
	}
	within := func(n int64, lower, upper *int64) bool {
		return (lower == nil || n >= *lower) && (upper == nil || n <= *upper)
	}
	switch {
	case value == nil:
		return nil, nil
	case kind == string(schemas.BooleanAttributeType):
		return strconv.ParseBool(strings.ToLower(text))
	case kind == string(schemas.IntegerAttributeType):
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !within(n, s.LowerBound, s.UpperBound) {
			return nil, fmt.Errorf("%q is no integer within its bounds", text)
		}
		return json.Number(strconv.FormatInt(n, 10)), nil
	case len(s.AllowableValues) > 0 && !slices.Contains(s.AllowableValues, text):
		if s.IsSecret() {
			return nil, errors.New("its value is not permitted")
		}
		return nil, fmt.Errorf("%q is none of %q", text, s.AllowableValues)
	case !within(int64(utf8.RuneCountInString(text)), s.MinLength, s.MaxLength):
		if s.IsSecret() {
			return nil, errors.New("its length is not permitted")
		}
		return nil, fmt.Errorf("%q has a length that is not permitted", text)
	}
	return text, nil
}
