// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
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

// system is one server. Its power state was set, or is a transition that ends by itself.
type system struct {
	index                  int // among the systems of the BMC
	id, name, uuid, serial string
	hardware               Hardware

	power   string
	next    string    // the power state from settled on; "" if there is no transition
	settled time.Time // the end of the transition to next
	boot    bootOverride
	shown   bootOverride // the override that the system itself shows if the override is changed in its settings object

	bios       bios
	secureBoot secureBoot
	nmis       int

	onPower func(on bool, source, image string)
	profile *Profile
	slots   []*slot // of the BMC
}

// newSystem makes the system with an index among the systems of the BMC on a port.
func newSystem(s System, p *Profile, index, port int, slots []*slot) *system {
	serial := fmt.Sprintf("SN%05d%02d", port, index+1)
	if s.OnPower == nil {
		s.OnPower = func(bool, string, string) {}
	}
	none := bootOverride{Target: "None", Enabled: "Disabled", Mode: "UEFI"}
	return &system{
		onPower:  s.OnPower,
		profile:  p,
		slots:    slots,
		index:    index,
		id:       s.ID,
		name:     s.Name,
		uuid:     fmt.Sprintf("8c3f0b52-%04x-4000-8000-%012x", port, index+1),
		serial:   serial,
		hardware: s.Hardware.complete(index, port),
		power:    s.Power,
		bios:     newBIOS(p.attributes(), serial),
		boot:     none,
		shown:    none,
	}
}

// system returns the system with an ID, nil if there is none.
func (b *Redfish) system(id string) *system {
	i := slices.IndexFunc(b.systems, func(s *system) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return b.systems[i]
}

// systemResource returns the resource of a system, or one of its child resources that can change. It returns nil if
// there is none.
func (b *Redfish) systemResource(id, below string) *resource {
	s := b.system(id)
	if s == nil {
		return nil
	}
	res := &resource{get: func() *reply { return show(http.StatusOK, s.object()) }}
	settings := &resource{get: func() *reply { return show(http.StatusOK, s.settings()) }}
	if s.profile.BootInSettings {
		settings.patch = func(c *call) *reply { return s.patch(c, s.settings) }
	} else {
		res.patch = func(c *call) *reply { return s.patch(c, s.object) }
	}
	switch below {
	case "":
		return res
	case resetPath:
		return &resource{post: func(c *call) *reply { return b.reset(s, c) }, owner: res}
	case infoPath:
		if !s.profile.ActionInfo {
			return nil
		}
		return &resource{get: func() *reply { return show(http.StatusOK, s.actionInfo()) }}
	case "SecureBoot":
		return &resource{get: func() *reply { return show(http.StatusOK, s.secureBootObject()) }, patch: s.patchSecureBoot}
	case s.profile.Settings:
		return settings
	}
	if slot, ok := strings.CutPrefix("/"+below, mediaBelow+"/"); ok {
		return b.slotResource(s.path(), slot)
	}
	if below, ok := strings.CutPrefix(below, s.profile.BIOS); ok {
		return s.biosResource(below)
	}
	return nil
}

func (s *system) path() string { return systemsPath + "/" + s.id }

func (s *system) object() object {
	o := newDevice(s.path(), "ComputerSystem.v1_22_0", s.name)
	o["SystemType"] = "Physical"
	o["Manufacturer"] = s.profile.Manufacturer
	o["Model"] = "bmctest"
	o["SKU"] = "BMCTEST-1U"
	o["SerialNumber"] = s.serial
	o["UUID"] = s.uuid
	o["BiosVersion"] = biosVersion
	o["PowerState"] = s.powerAt(time.Now())
	o["MemorySummary"] = object{"TotalSystemMemoryGiB": s.hardware.DIMMs * gibPerDIMM, "Status": healthy()}
	o["ProcessorSummary"] = object{
		"Count":                 s.hardware.Processors,
		"CoreCount":             s.hardware.Processors * coresPerProcessor,
		"LogicalProcessorCount": s.hardware.Processors * threadsPerProcessor,
		"Model":                 processorModel,
		"Status":                healthy(),
	}
	for _, name := range []string{"Processors", "Memory", "Storage", "EthernetInterfaces", "SecureBoot"} {
		o[name] = link(s.path() + "/" + name)
	}
	o["PCIeDevices"] = links(s.pciPaths())
	o["PCIeDevices@odata.count"] = len(s.pciPaths())
	o["Bios"] = link(s.biosPath())
	switch {
	case s.profile.SharedSlots:
		o["VirtualMedia"] = link(s.profile.managerPath() + mediaBelow)
	case s.profile.SystemSlots != nil:
		o["VirtualMedia"] = link(s.path() + mediaBelow)
	}
	o["Boot"] = s.bootObject()
	if s.profile.BootInSettings {
		o["Boot"] = s.shown.object()
	}
	if s.profile.Settings != "" {
		o["@Redfish.Settings"] = object{"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(s.path() + "/" + s.profile.Settings)}
	}
	reset := object{"target": s.path() + "/" + resetPath}
	if s.profile.ActionInfo {
		reset["@Redfish.ActionInfo"] = s.path() + "/" + infoPath
	} else {
		reset[resetValues] = s.profile.ResetTypes
	}
	o["Actions"] = object{"#" + resetAction: reset}
	o["Links"] = object{
		"Chassis":   links([]string{boxPath}),
		"ManagedBy": links([]string{s.profile.managerPath()}),
	}
	return o
}

// actionInfo returns the description of the system's reset.
func (s *system) actionInfo() object {
	o := newResource(s.path()+"/"+infoPath, "ActionInfo.v1_4_2", "Reset Action Info")
	o["Parameters"] = []object{{
		"Name": "ResetType", "Required": true, "DataType": "String", "AllowableValues": s.profile.ResetTypes,
	}}
	return o
}

// settings returns the settings object of the system. It has the boot override that clients have set, or no override at
// all.
func (s *system) settings() object {
	o := newResource(s.path()+"/"+s.profile.Settings, "ComputerSystem.v1_22_0", "Settings")
	o["Boot"] = object{"BootOrder": []string{"Boot0001", "Boot0000"}}
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

func (s *system) setPower(power string) { s.power, s.next = power, "" }

func (s *system) powerAt(now time.Time) string {
	if s.next != "" && !now.Before(s.settled) {
		s.setPower(s.next)
	}
	return s.power
}

// change begins a transition that takes delay.
func (s *system) change(transition, target string, delay time.Duration) {
	if delay == 0 {
		s.setPower(target)
		return
	}
	s.power, s.next, s.settled = transition, target, time.Now().Add(delay)
}

// turnOn powers the system on or resets it.
func (s *system) turnOn(delay time.Duration) {
	s.change(poweringOn, powerOn, delay)
	s.boots()
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

func (s *system) turnOff(delay time.Duration) {
	s.change(poweringOff, powerOff, delay)
	s.onPower(false, "", "")
}

// announceBoot calls onPower for a boot.
func (s *system) announceBoot() {
	source := s.boot.Target
	types := map[string][]string{"Usb": {"USBStick"}, "Floppy": {"Floppy"}}[source]
	if source == s.profile.CDTarget {
		source, types = "Cd", []string{"CD", "DVD"}
	}
	for _, slot := range s.slots {
		if slot.medium.inserted && slot.holds(types) {
			s.onPower(true, source, slot.medium.image)
			return
		}
	}
	s.onPower(true, source, "")
}

// resets has the values of ResetType. Each function reports whether the power state allows the reset.
var resets = []struct {
	name string
	do   func(s *system, now string, delay time.Duration) bool
}{
	{"On", func(s *system, now string, delay time.Duration) bool {
		if now != powerOn && now != poweringOn {
			s.turnOn(delay)
		}
		return true
	}},
	{"ForceOff", switchOff},
	{"GracefulShutdown", switchOff},
	{"GracefulRestart", restart},
	{"ForceRestart", restart},
	{"PowerCycle", restart},
	{"PushPowerButton", func(s *system, now string, delay time.Duration) bool {
		if isOff(now) {
			s.turnOn(delay)
		} else {
			s.turnOff(delay)
		}
		return true
	}},
	{"Nmi", func(s *system, now string, _ time.Duration) bool {
		if isOff(now) {
			return false
		}
		s.nmis++
		return true
	}},
}

func isOff(power string) bool { return power == powerOff || power == poweringOff }

func switchOff(s *system, now string, delay time.Duration) bool {
	if !isOff(now) {
		s.turnOff(delay)
	}
	return true
}

func restart(s *system, now string, delay time.Duration) bool {
	if isOff(now) {
		return false
	}
	s.turnOn(delay)
	return true
}

func resetTypes() []string {
	var names []string
	for _, r := range resets {
		names = append(names, r.name)
	}
	return names
}

// reset carries out the action ComputerSystem.Reset.
func (b *Redfish) reset(s *system, c *call) *reply {
	resetType := member{name: "ResetType", action: "ComputerSystem.Reset"}
	body, ok := members(c.body)
	if !ok {
		return badJSON()
	}
	if _, ok := body[resetType.name]; !ok {
		return resetType.missing()
	}
	name, _ := textOf(body[resetType.name])
	for _, r := range resets {
		if r.name != name || !slices.Contains(s.profile.ResetTypes, name) {
			continue
		}
		if !r.do(s, s.powerAt(time.Now()), b.config.PowerDelay) {
			return problem(http.StatusConflict, "BMCTest.1.0.SystemPoweredOff",
				fmt.Sprintf("%s is impossible while the system is off.", name), name)
		}
		return noContent()
	}
	return resetType.notInList(name)
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
