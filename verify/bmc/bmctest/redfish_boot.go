// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
)

// bootOverride is the boot override of a system, in the words of the ComputerSystem schema.
type bootOverride struct {
	Target  string // such as "Pxe"; "None" if nothing is overridden
	Enabled string // "Disabled", "Once" or "Continuous"
	Mode    string // "UEFI" or "Legacy"
}

var (
	bootTargets = []string{"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "Diags", "SDCard",
		"UefiHttp", "RemoteDrive"}
	bootEnabled = []string{"Disabled", "Once", "Continuous"}
	bootModes   = []string{"Legacy", "UEFI"}
)

// settings returns the settings object of the system. It has the boot override that clients have set, or no override at
// all.
func (s *system) settings() object {
	o := newResource(s.path()+"/"+s.profile.Settings, "ComputerSystem.v1_22_0", "Settings", object{
		"Boot": object{"BootOrder": []string{"Boot0001", "Boot0000"}},
	})
	if s.profile.BootInSettings {
		o["Boot"] = s.bootObject()
	}
	return o
}

// bootObject returns the boot override that clients have set, with the accepted values.
func (s *system) bootObject() object {
	o := s.boot.object()
	o["BootSourceOverrideTarget@Redfish.AllowableValues"] = s.profile.BootTargets
	o["BootSourceOverrideEnabled@Redfish.AllowableValues"] = s.profile.BootEnabled
	o["BootSourceOverrideMode@Redfish.AllowableValues"] = s.profile.BootModes
	return o
}

func (boot bootOverride) object() object {
	return object{"BootSourceOverrideTarget": boot.Target, "BootSourceOverrideEnabled": boot.Enabled, "BootSourceOverrideMode": boot.Mode}
}

// boots applies the changes that wait for the next boot, and calls onPower. The boot uses up an override that is in
// force once.
func (s *system) boots() {
	maps.Copy(s.bios.values, s.bios.pending)
	clear(s.bios.pending)
	s.secureBoot.current = s.secureBoot.enabled && s.boot.Mode == "UEFI"
	s.announceBoot()
	if s.boot.Enabled == "Once" {
		s.boot.Target, s.boot.Enabled = "None", "Disabled"
	}
	s.shown = s.boot
}

// announceBoot calls onPower for a boot.
func (s *system) announceBoot() {
	source := s.boot.Target
	types := map[string][]string{"Usb": {"USBStick"}, "Floppy": {"Floppy"}}[source]
	if source == s.profile.CDTarget {
		source, types = "Cd", []string{"CD", "DVD"}
	}
	for _, slot := range s.slots {
		if slot.medium.inserted && slot.takesAny(types) {
			s.onPower(true, source, slot.medium.image)
			return
		}
	}
	s.onPower(true, source, "")
}

// patch changes the boot override, all or nothing, and shows the resource that was changed.
func (s *system) patch(c *call, changed func() object) *reply {
	boot := s.boot
	properties := setters{"Boot": func(at member, raw json.RawMessage) *reply {
		boot.Mode = cmp.Or(s.profile.DefaultBootMode, boot.Mode) // unless the change has one
		return inside(setters{
			"BootSourceOverrideTarget":  oneOf(&boot.Target, s.profile.BootTargets),
			"BootSourceOverrideEnabled": oneOf(&boot.Enabled, s.profile.BootEnabled),
			"BootSourceOverrideMode":    oneOf(&boot.Mode, s.profile.BootModes),
		})(at, raw)
	}}
	if refusal := properties.set("", c.body); refusal != nil {
		return refusal
	}
	s.boot = boot
	return show(http.StatusOK, changed())
}
