// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ironstate/ironstate/internal/sorted"
)

// Profile has the common properties of the BMCs of a family, as data: the shape of their resources, their actions,
// their words and their quirks. RedfishConfig.Profile selects it. [Profiles] lists the profiles of known families; a
// test may change a copy, or write one for its own machines. The zero value is a BMC without quirks.
//
// A profile has the recorded or reported properties of a family, and the defaults of this package where nothing is
// known. It is no emulation of a firmware: the machine behind it has the parts that System.Hardware counts.
type Profile struct {
	Name         string // of the family, such as "lenovo"
	Manufacturer string // of the system, such as "Lenovo"; "ironstate" if empty
	Vendor       string // of the BMC's firmware, which the service root reports, such as "AMI"; not reported if empty

	SystemID  string // of a System without an ID; "1" if empty
	ManagerID string // last element of the manager's path; "bmc" if empty
	// BMCVersion is the version of the BMC's firmware; "2.14.0" if empty.
	BMCVersion string
	// Baseboard is the ID of one more system, a board with accelerators, that can be neither booted nor reset; none if
	// empty.
	Baseboard string

	// SystemSlots and ManagerSlots are the slots of virtual media whose collection the system and the manager link.
	// Slots with the same ID are one slot with two paths. If both are nil, the manager has the slots "CD" and "USB".
	SystemSlots, ManagerSlots []Slot
	// SharedSlots lets the system link the manager's slots, in place of its own.
	SharedSlots bool
	// PatchedSlots leaves the actions of all slots out: clients insert and eject by PATCH, and say that the image is
	// inserted.
	PatchedSlots bool
	// EjectIfInserted leaves the action EjectMedia out while a slot is empty.
	EjectIfInserted bool
	// EmptyImage is the value of Image and ImageName in an empty slot; null if empty.
	EmptyImage string

	// BootTargets, BootEnabled and BootModes are the accepted values of BootSourceOverrideTarget,
	// BootSourceOverrideEnabled and BootSourceOverrideMode; if nil, the values of this package.
	BootTargets, BootEnabled, BootModes []string
	// DefaultBootMode is the BootSourceOverrideMode that a change of the boot override sets if it has none; if empty, the
	// boot mode stays.
	DefaultBootMode string
	// CDTarget is the boot target at which the machine finds the CD in a slot; "Cd" if empty.
	CDTarget string
	// Settings is the last element of the path of the system's settings object; none if empty. With BootInSettings
	// clients change the boot override there, and the system shows it once it has booted. Otherwise the settings
	// object has no boot override.
	Settings       string
	BootInSettings bool
	// ResetTypes are the accepted values of ResetType; if nil, the values of this package.
	ResetTypes []string
	// ActionInfo lists the reset types in a resource of their own, which the system links, in place of the system.
	ActionInfo bool

	BIOS         string // last element of the path of the BIOS settings; "Bios" if empty
	BIOSSettings string // the same of their settings object; "Settings" if empty
	// BIOSInPlace leaves the settings object out: clients change the BIOS settings themselves.
	BIOSInPlace bool
	// BIOSPassword is the name of one more BIOS attribute, a password, whose value is shown as null; none if empty.
	BIOSPassword string
	// Registry has the names of the BIOS attribute registry.
	Registry RegistryNames
	// NumberedValues gives the values of an enumeration numbers as names in the registry: the words of the settings
	// are their display names.
	NumberedValues bool

	// ETags is the form of the ETags; StrongETags if empty.
	ETags ETags

	// Without lists members that no resource has, at any depth, such as "MediaTypes" or
	// "BootSourceOverrideMode@Redfish.AllowableValues".
	Without []string
	// Missing lists collections below a system that are linked and not there, such as "Memory".
	Missing []string

	// Refusals are effects that refuse some requests for good: RefuseContinuous, WholeBoot, RequireParameters,
	// RefuseParameters, RequireEjectBody, RefuseActionIfMatch and RequireIfMatch.
	Refusals []Effect
	// Quirks are faults that occur at times or with some firmware, such as the refusals of a BMC whose machine boots, or
	// was just switched off, which a client has to repeat. They are not in force until they are added to
	// RedfishConfig.Faults, or by AddFault. [Quirks] has all families' faults.
	Quirks []Fault
}

// Slot is a slot of virtual media of a Profile.
type Slot struct {
	ID, Name   string
	MediaTypes []string // the media that fit, in the words of the VirtualMedia schema, such as "CD"
}

// RegistryNames are the names of a BIOS attribute registry. They should be the same and often are not.
type RegistryNames struct {
	Attribute string // AttributeRegistry of the BIOS settings
	File      string // Id of the registry file; Attribute if empty
	Registry  string // Registry of the registry file; File if empty
	ID        string // Id of the registry itself; Attribute if empty
	Path      string // of the registry itself; below the file if empty
}

// ETags is a form of ETags.
type ETags string

// The forms of ETags. In each the BMC accepts in If-Match what it has sent.
const (
	StrongETags ETags = "strong" // in the header, such as "7"
	WeakETags   ETags = "weak"   // in the header and in @odata.etag of the body, such as W/"7"
	BodyETags   ETags = "body"   // in @odata.etag of the body only, such as "7"
	NoETags     ETags = "none"
)

// ownRegistry are the names of the registry of a profile that has none.
var ownRegistry = RegistryNames{Attribute: "BiosAttributeRegistryBmctest.v1_0_0", Registry: "BiosAttributeRegistryBmctest.1.0"}

// complete returns the profile with its defaults.
func (p Profile) complete() Profile {
	p.Manufacturer = cmp.Or(p.Manufacturer, manufacturer)
	p.SystemID = cmp.Or(p.SystemID, "1")
	p.ManagerID = cmp.Or(p.ManagerID, "bmc")
	p.BMCVersion = cmp.Or(p.BMCVersion, bmcVersion)
	p.CDTarget = cmp.Or(p.CDTarget, "Cd")
	p.BIOS = cmp.Or(p.BIOS, "Bios")
	p.BIOSSettings = cmp.Or(p.BIOSSettings, "Settings")
	p.Registry = cmp.Or(p.Registry, ownRegistry)
	p.Registry.File = cmp.Or(p.Registry.File, p.Registry.Attribute)
	p.Registry.Registry = cmp.Or(p.Registry.Registry, p.Registry.File)
	p.Registry.ID = cmp.Or(p.Registry.ID, p.Registry.Attribute)
	p.Registry.Path = cmp.Or(p.Registry.Path, registriesPath+"/"+p.Registry.File+"/registry.json")
	p.ETags = cmp.Or(p.ETags, StrongETags)
	p.BootTargets = listOr(p.BootTargets, bootTargets)
	p.BootEnabled = listOr(p.BootEnabled, bootEnabled)
	p.BootModes = listOr(p.BootModes, bootModes)
	p.ResetTypes = listOr(p.ResetTypes, resetTypes())
	if p.SystemSlots == nil && p.ManagerSlots == nil {
		p.ManagerSlots = []Slot{
			{"CD", "Virtual CD", []string{"CD", "DVD"}},
			{"USB", "Virtual Removable Media", []string{"USBStick", "Floppy"}},
		}
	}
	return p
}

// listOr returns a list, or the fallback for nil.
func listOr(list, fallback []string) []string {
	if list == nil {
		return fallback
	}
	return list
}

// check reports what is invalid in a complete profile.
func (p *Profile) check(invalid func(field string, value any, want string)) {
	ids := map[string]string{"Profile.SystemID": p.SystemID, "Profile.ManagerID": p.ManagerID, "Profile.BIOS": p.BIOS,
		"Profile.BIOSSettings": p.BIOSSettings, "Profile.Registry.File": p.Registry.File, "Profile.Baseboard": cmp.Or(p.Baseboard, "none"),
		"Profile.Settings": cmp.Or(p.Settings, "none")}
	for field, id := range sorted.All(ids) {
		if !validID.MatchString(id) {
			invalid(field, id, "a name of letters, digits, '-', '_' and '.'")
		}
	}
	slotsOf := map[string][]Slot{"Profile.ManagerSlots.ID": p.ManagerSlots, "Profile.SystemSlots.ID": p.SystemSlots}
	for field, slots := range sorted.All(slotsOf) {
		for i, s := range slots {
			if !validID.MatchString(s.ID) || slices.ContainsFunc(slots[:i], func(other Slot) bool { return other.ID == s.ID }) {
				invalid(field, s.ID, "IDs of letters, digits, '-', '_' and '.', each once")
			}
		}
	}
	if forms := []ETags{StrongETags, WeakETags, BodyETags, NoETags}; !slices.Contains(forms, p.ETags) {
		invalid("Profile.ETags", p.ETags, fmt.Sprintf("one of %q", forms))
	}
	if p.DefaultBootMode != "" && !slices.Contains(p.BootModes, p.DefaultBootMode) {
		invalid("Profile.DefaultBootMode", p.DefaultBootMode, fmt.Sprintf("one of %q", p.BootModes))
	}
	if p.BootInSettings && p.Settings == "" {
		invalid("Profile.Settings", p.Settings, "the name of the settings object that has the boot override")
	}
	if slices.ContainsFunc(biosAttributes, func(a attribute) bool { return a.name == p.BIOSPassword }) {
		invalid("Profile.BIOSPassword", p.BIOSPassword, "a name that no other attribute has")
	}
	for _, e := range p.Refusals {
		if e.refuse == nil {
			invalid("Profile.Refusals", e.String(), "effects that refuse some requests, such as WholeBoot()")
		}
	}
}

func (p *Profile) managerPath() string { return managersPath + "/" + p.ManagerID }

// baseboard returns the system at a path that can be neither booted nor reset.
func (p *Profile) baseboard(at string) object {
	return newDevice(at, "ComputerSystem.v1_22_0", "Baseboard", object{
		"SystemType":   "Physical",
		"Manufacturer": p.Manufacturer,
		"PowerState":   powerOn,
	})
}

// refuse returns the answer to a request, nil to one that the profile does not refuse.
func (p *Profile) refuse(c *call) *reply {
	for _, e := range p.Refusals {
		if answer := e.refuse(c); answer != nil {
			return answer
		}
	}
	return nil
}

// of returns the ETag that is sent for one of StrongETags.
func (form ETags) of(strong string) string {
	switch {
	case strong == "" || form == NoETags:
		return ""
	case form == WeakETags:
		return "W/" + strong
	}
	return strong
}

// spell returns a resource without the members that the profile lacks, and with its form of ETags.
func (p *Profile) spell(r *reply) *reply {
	var o object
	tag := r.header.Get("ETag")
	if tag == "" || p.ETags == StrongETags && len(p.Without) == 0 || json.Unmarshal(r.body, &o) != nil {
		return r
	}
	p.strip(o)
	tag = p.ETags.of(tag)
	if p.ETags == WeakETags || p.ETags == BodyETags {
		o["@odata.etag"] = tag
	}
	if p.ETags == BodyETags {
		tag = ""
	}
	r.header.Del("ETag")
	if tag != "" {
		r.header.Set("ETag", tag)
	}
	r.body, _ = json.Marshal(o) // it was decoded from JSON
	return r
}

// strip removes the members that the profile lacks from a decoded JSON value.
func (p *Profile) strip(value any) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if slices.Contains(p.Without, name) {
				delete(value, name)
			}
			p.strip(member)
		}
	case []any:
		for _, member := range value {
			p.strip(member)
		}
	}
}
