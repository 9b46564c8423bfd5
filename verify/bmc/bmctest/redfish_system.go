// SPDX-License-Identifier: Apache-2.0

package bmctest

import (
	"fmt"
	"slices"
	"strings"
	"time"
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
	res := &resource{get: showing(s.object)}
	settings := &resource{get: showing(s.settings)}
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
		return &resource{get: showing(s.actionInfo)}
	case "SecureBoot":
		return &resource{get: showing(s.secureBootObject), patch: s.patchSecureBoot}
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
	o := newDevice(s.path(), "ComputerSystem.v1_22_0", s.name, object{
		"SystemType":    "Physical",
		"Manufacturer":  s.profile.Manufacturer,
		"Model":         "bmctest",
		"SKU":           "BMCTEST-1U",
		"SerialNumber":  s.serial,
		"UUID":          s.uuid,
		"BiosVersion":   biosVersion,
		"PowerState":    s.powerAt(time.Now()),
		"MemorySummary": object{"TotalSystemMemoryGiB": s.hardware.DIMMs * gibPerDIMM, "Status": healthy()},
		"ProcessorSummary": object{
			"Count":                 s.hardware.Processors,
			"CoreCount":             s.hardware.Processors * coresPerProcessor,
			"LogicalProcessorCount": s.hardware.Processors * threadsPerProcessor,
			"Model":                 processorModel,
			"Status":                healthy(),
		},
	})
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
		"Chassis":   links([]string{theChassisPath}),
		"ManagedBy": links([]string{s.profile.managerPath()}),
	}
	return o
}
