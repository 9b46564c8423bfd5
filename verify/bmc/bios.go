// SPDX-License-Identifier: Apache-2.0

package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ironstate/ironstate/verify/bmc/internal/failure"
	"github.com/ironstate/ironstate/verify/bmc/internal/redfish"
)

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
		return r.setBIOS(values)
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
			kind = "Boolean"
		case json.Number:
			kind = "Integer"
		}
	}
	within := func(n int64, lower, upper *int64) bool {
		return (lower == nil || n >= *lower) && (upper == nil || n <= *upper)
	}
	switch {
	case value == nil:
		return nil, nil
	case kind == "Boolean":
		return strconv.ParseBool(strings.ToLower(text))
	case kind == "Integer":
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
