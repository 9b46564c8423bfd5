// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

const registriesPath = rootPath + "/Registries"

// attribute is an entry of the BIOS attribute registry, with the limits of its type.
type attribute struct {
	name, display string
	kind          string // "Enumeration", "Integer", "String", "Boolean" or "Password"
	fallback      any    // DefaultValue: an int if kind is "Integer"
	values        []string
	lower, upper  int
	maxLength     int // in characters; the minimum is 0
	readOnly      bool
	resetRequired bool
}

const (
	serialAttribute = "SystemSerialNumber"
	passwordKind    = "Password"
)

var biosAttributes = []attribute{
	{name: "AssetTag", display: "Asset Tag", kind: "String", fallback: "", maxLength: 32},
	{name: "BootTimeout", display: "Boot Timeout in Seconds", kind: "Integer", fallback: 5, upper: 300, resetRequired: true},
	{name: "HyperThreading", display: "Hyper-Threading", kind: "Enumeration", fallback: "Enabled",
		values: []string{"Enabled", "Disabled"}, resetRequired: true},
	{name: "PowerProfile", display: "Power Profile", kind: "Enumeration", fallback: "Balanced",
		values: []string{"Performance", "Balanced", "PowerSaving"}, resetRequired: true},
	{name: "QuietBoot", display: "Quiet Boot", kind: "Boolean", fallback: true, resetRequired: true},
	{name: serialAttribute, display: "System Serial Number", kind: "String", maxLength: 64, readOnly: true},
}

// attributes returns the BIOS attributes of a system, with the profile's password.
func (p *Profile) attributes() []attribute {
	all := slices.Clone(biosAttributes)
	if p.BIOSPassword != "" {
		all = append(all, attribute{
			name: p.BIOSPassword, display: "Administrator Password", kind: passwordKind, maxLength: 20, resetRequired: true,
		})
	}
	return all
}

// into takes the value that a client wants the attribute to have, if the registry permits it.
func (a attribute) into(changes map[string]any) setter {
	if a.readOnly {
		return readOnly
	}
	return func(at member, raw json.RawMessage) *reply {
		switch a.kind {
		case "Boolean":
			return property[bool](changes)(at, raw)
		case "Integer":
			var n int
			if refusal := into(&n)(at, raw); refusal != nil {
				return refusal
			}
			if n < a.lower || n > a.upper {
				return at.outOfRange(string(raw))
			}
			changes[a.name] = n
			return nil
		}
		var text string
		if refusal := into(&text)(at, raw); refusal != nil {
			return refusal
		}
		switch {
		case a.kind == "Enumeration" && !slices.Contains(a.values, text):
			return at.notInList(text)
		case (a.kind == "String" || a.kind == passwordKind) && utf8.RuneCountInString(text) > a.maxLength:
			return at.wrongFormat(text)
		}
		changes[a.name] = text
		return nil
	}
}

// entry returns the attribute as the AttributeRegistry schema describes it. The names of its values are numbers if
// numbered.
func (a attribute) entry(numbered bool) object {
	o := object{
		"AttributeName":          a.name,
		"DisplayName":            a.display,
		"Type":                   a.kind,
		"DefaultValue":           a.fallback,
		"ReadOnly":               a.readOnly,
		"ResetRequired":          a.resetRequired,
		"IsSystemUniqueProperty": a.name == serialAttribute,
		"Immutable":              false,
	}
	switch a.kind {
	case "Enumeration":
		var values []object
		for i, v := range a.values {
			name := v
			if numbered {
				name = strconv.Itoa(i)
			}
			values = append(values, object{"ValueName": name, "ValueDisplayName": v})
		}
		o["Value"] = values
	case "Integer":
		o["LowerBound"], o["UpperBound"], o["ScalarIncrement"] = a.lower, a.upper, 1
	case "String", passwordKind:
		o["MinLength"], o["MaxLength"] = 0, a.maxLength
	}
	return o
}

// addRegistries adds the BIOS attribute registry, and the collection of registries that leads to it.
func (f fixedResources) addRegistries(p *Profile) {
	at := registriesPath + "/" + p.Registry.File
	content := p.Registry.Path
	var attributes []object
	for _, a := range p.attributes() {
		attributes = append(attributes, a.entry(p.NumberedValues))
	}
	f.add(newResource(content, "AttributeRegistry.v1_3_8", "BIOS Attribute Registry", object{
		"Id":              p.Registry.ID,
		"Language":        "en",
		"OwningEntity":    manufacturer,
		"RegistryVersion": "1.0.0",
		"RegistryEntries": object{"Attributes": attributes},
	}))
	file := newResource(at, "MessageRegistryFile.v1_1_4", "BIOS Attribute Registry File", object{
		"Registry":  p.Registry.Registry,
		"Languages": []string{"en"},
		"Location":  []object{{"Language": "en", "Uri": content}},
	})
	f.addMembers(registriesPath, "MessageRegistryFileCollection", "Registries", file)
}
