// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"encoding/json"
	"maps"
	"net/http"
)

// biosReset is the path of an action below the BIOS settings.
const biosReset = "/Actions/Bios.ResetBios"

// bios has the values of the BIOS attributes of a system.
type bios struct {
	values  map[string]any // in force
	pending map[string]any // the changes that take effect when the system is powered on or reset
}

func newBIOS(attributes []attribute, serial string) bios {
	b := bios{values: make(map[string]any), pending: make(map[string]any)}
	for _, a := range attributes {
		b.values[a.name] = a.fallback
	}
	b.values[serialAttribute] = serial
	return b
}

// BIOS returns the BIOS attributes of a system that are in force: strings, integers of type int, and booleans, and nil
// for a password that nobody has set. The changes that clients make take effect when the system is powered on or reset.
// BIOS returns nil if there is no such system.
func (b *Redfish) BIOS(systemID string) map[string]any {
	return ofSystem(b, systemID, func(s *system) map[string]any { return maps.Clone(s.bios.values) })
}

// set changes an attribute: at once if that needs no reset, and otherwise at the next boot.
func (b *bios) set(a attribute, value any) {
	if a.resetRequired {
		b.pending[a.name] = value
	} else {
		b.values[a.name] = value
	}
}

// biosResource returns the resource at a path below the BIOS settings of a system, nil if there is none.
func (s *system) biosResource(below string) *resource {
	switch {
	case below == "" && s.profile.BIOSInPlace:
		return &resource{get: showing(s.biosObject), patch: s.patchBIOS}
	case below == "":
		return &resource{get: showing(s.biosObject)}
	case below == "/"+s.profile.BIOSSettings && !s.profile.BIOSInPlace:
		return &resource{get: showing(s.biosSettings), patch: s.patchBIOS}
	case below == biosReset:
		return &resource{post: s.resetBIOS}
	}
	return nil
}

func (s *system) biosPath() string { return s.path() + "/" + s.profile.BIOS }

func (s *system) biosObject() object {
	settings := object{"@odata.type": "#Settings.v1_3_5.Settings", "SupportedApplyTimes": []string{applyOnReset}}
	if !s.profile.BIOSInPlace {
		settings["SettingsObject"] = link(s.biosPath() + "/" + s.profile.BIOSSettings)
	}
	return newResource(s.biosPath(), "Bios.v1_2_2", "BIOS", object{
		"AttributeRegistry": s.profile.Registry.Attribute,
		"Attributes":        s.shownAttributes(s.bios.values),
		"@Redfish.Settings": settings,
		"Links":             object{"ActiveSoftwareImage": link(inventoryPath + "/BIOS")},
		"Actions":           object{"#Bios.ResetBios": object{"target": s.biosPath() + biosReset}},
	})
}

// biosSettings returns the settings resource, which has all attributes as they will be after the next reset.
func (s *system) biosSettings() object {
	future := maps.Clone(s.bios.values)
	maps.Copy(future, s.bios.pending)
	return newResource(s.biosPath()+"/"+s.profile.BIOSSettings, "Bios.v1_2_2", "BIOS Settings", object{
		"AttributeRegistry": s.profile.Registry.Attribute,
		"Attributes":        s.shownAttributes(future),
	})
}

// shownAttributes returns the values of attributes as clients see them: a password is null.
func (s *system) shownAttributes(values map[string]any) map[string]any {
	shown := maps.Clone(values)
	if name := s.profile.BIOSPassword; name != "" {
		shown[name] = nil
	}
	return shown
}

const applyOnReset = "OnReset"

// patchBIOS changes attributes, all or nothing.
func (s *system) patchBIOS(c *call) *reply {
	changes := make(map[string]any)
	attributes := make(setters)
	for _, a := range s.profile.attributes() {
		attributes[a.name] = a.into(changes)
	}
	properties := setters{
		"Attributes": inside(attributes),
		"@Redfish.SettingsApplyTime": func(at member, raw json.RawMessage) *reply {
			when, ok := members(raw)
			if !ok {
				return at.wrongType(raw)
			}
			if text, _ := textOf(when["ApplyTime"]); text != applyOnReset {
				return member{name: "ApplyTime"}.notInList(string(when["ApplyTime"]))
			}
			return nil
		},
	}
	if refusal := properties.set("", c.body); refusal != nil {
		return refusal
	}
	for _, a := range s.profile.attributes() {
		if value, ok := changes[a.name]; ok {
			s.bios.set(a, value)
		}
	}
	if s.profile.BIOSInPlace {
		return show(http.StatusOK, s.biosObject())
	}
	return show(http.StatusOK, s.biosSettings())
}

// resetBIOS carries out the action Bios.ResetBios.
func (s *system) resetBIOS(*call) *reply {
	for _, a := range s.profile.attributes() {
		if !a.readOnly {
			s.bios.set(a, a.fallback)
		}
	}
	return noContent()
}
