// SPDX-License-Identifier: Apache-2.0

package bmctest

import "net/http"

// Profiles lists the profiles of all families, for tests that go through them.
func Profiles() []Profile {
	return []Profile{Dell(), HPE(), Lenovo(), Supermicro(), Gigabyte(), ASRockRack(), NVIDIA(), DMTF()}
}

// Members that many BMCs lack.
const (
	enabledValues = "BootSourceOverrideEnabled@Redfish.AllowableValues"
	modeValues    = "BootSourceOverrideMode@Redfish.AllowableValues"
	resetValues   = "ResetType@Redfish.AllowableValues"
)

// anyMedia are the types of media of slots that take all.
var anyMedia = []string{"CD", "DVD", "Floppy", "USBStick"}

// Dell is an iDRAC 9 with firmware 6. The system has slots of virtual media that the manager of earlier firmware had,
// and the manager still has its own. The registry file has another name than the registry. An iDRAC 10 refuses
// actions with If-Match.
//
// Source: the Redfish service of a PowerEdge R750, recorded in github.com/NVIDIA/libredfish; for the quirks
// _set_power_state in ironic/drivers/modules/redfish/power.py, and check_retry_on_exception in sushy/connector.py; for
// the version _validate_vendor in ironic/drivers/modules/redfish/boot.py; and the sources of the effects.
func Dell() Profile {
	return Profile{
		Name: "dell", Manufacturer: "Dell Inc.", Vendor: "Dell",
		SystemID: "System.Embedded.1", ManagerID: "iDRAC.Embedded.1", BMCVersion: "6.10.30.00",
		SystemSlots: []Slot{
			{"1", "VirtualMedia Instance 1", []string{"CD", "DVD", "USBStick"}},
			{"2", "VirtualMedia Instance 2", []string{"CD", "DVD", "USBStick"}},
		},
		ManagerSlots: []Slot{
			{"RemovableDisk", "Virtual Removable Disk", []string{"USBStick"}}, {"CD", "Virtual CD", []string{"CD", "DVD"}},
		},
		BootTargets: []string{"None", "Pxe", "Floppy", "Cd", "Hdd", "BiosSetup", "Utilities", "UefiTarget", "SDCard", "UefiHttp"},
		Registry: RegistryNames{
			Attribute: "BiosAttributeRegistry.v1_0_3", File: "BiosAttributeRegistry.v1_0_0", Registry: "BiosAttributeRegistry1.0",
		},
		BIOSPassword: "SetupPassword",
		Without:      []string{enabledValues, modeValues},
		Quirks: []Fault{
			{Method: "PATCH", Times: 1, Do: Busy("IDRAC.2.8.SYS518")},
			{Times: 2, Do: PoweringOff()},
			{Times: 2, Do: Ejecting()},
			{Do: RefuseActionIfMatch()},
		},
	}
}

// HPE is an iLO 5. It wants a body in EjectMedia, and its ETags are weak.
//
// Source: the Redfish service of a ProLiant DL385 Gen10 Plus v2, recorded in github.com/NVIDIA/libredfish; eject_media
// in sushy/resources/manager/virtual_media.py; for the quirks HPE's iLO message registry, and
// check_retry_on_exception in sushy/connector.py.
func HPE() Profile {
	return Profile{
		Name: "hpe", Manufacturer: "HPE", Vendor: "HPE", SystemID: "1", ManagerID: "1",
		ManagerSlots: []Slot{{"1", "VirtualMedia", []string{"Floppy", "USBStick"}}, {"2", "VirtualMedia", []string{"CD", "DVD"}}},
		BootTargets: []string{
			"None", "Cd", "Hdd", "Usb", "SDCard", "Utilities", "Diags", "BiosSetup", "Pxe", "UefiShell", "UefiHttp", "UefiTarget",
		},
		ResetTypes: []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi", "PushPowerButton", "GracefulRestart"},
		BIOS:       "bios", BIOSSettings: "settings",
		Registry: RegistryNames{
			Attribute: "BiosAttributeRegistryA42.v1_2_60", Path: rootPath + "/registrystore/registries/en/biosattributeregistrya42.v1_2_60",
		},
		ETags:    WeakETags,
		Without:  []string{enabledValues, modeValues, "LogicalProcessorCount", "CoreCount", "SupportedApplyTimes"},
		Refusals: []Effect{RequireEjectBody()},
		Quirks: []Fault{
			{Method: "PATCH", Times: 2, Do: Busy("iLO.2.16.UnableToModifyDuringSystemPOST")},
			{Method: "POST", Times: 2, Do: Busy("iLO.2.15.InvalidOperationForSystemState")},
		},
	}
}

// Lenovo is an XCC. Its slots of virtual media, which the system and the manager link, have no actions, it keeps no
// boot device, and the settings object of the system has no boot override.
//
// Source: the Redfish service of a ThinkSystem SR670 V2, recorded in github.com/NVIDIA/libredfish; insert_media in
// sushy/resources/manager/virtual_media.py, for the SD530.
func Lenovo() Profile {
	slots := []Slot{{"EXT1", "VirtualMedia", anyMedia}, {"EXT2", "VirtualMedia", anyMedia}}
	return Profile{
		Name: "lenovo", Manufacturer: "Lenovo", Vendor: "Lenovo", SystemID: "1", ManagerID: "1",
		SystemSlots: slots, ManagerSlots: slots, PatchedSlots: true,
		BootTargets:  []string{"None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags", "UefiTarget"},
		BootEnabled:  []string{"Once", "Disabled"},
		Settings:     "Pending",
		ResetTypes:   []string{"On", "Nmi", "GracefulShutdown", "GracefulRestart", "ForceOff", "ForceRestart"},
		BIOSSettings: "Pending",
		Registry: RegistryNames{
			Attribute: "BiosAttributeRegistry.1.0.0", Registry: "BiosAttributeRegistry.1.0",
			Path: rootPath + "/schemas/registries/BiosAttributeRegistry.1.0.0.json",
		},
		ETags:   BodyETags,
		Without: []string{modeValues, "CoreCount"},
	}
}

// Supermicro is an X13. The system links the slots of virtual media of the manager, which have EjectMedia while an
// image is inserted only, and the machine finds a CD at "UsbCd" only. A change of the boot override without a boot mode
// sets the mode Legacy. The four names of the BIOS attribute registry differ, and its values have numbers as names.
// Older firmware redirects the log-in.
//
// Source: the Redfish service of a SYS-821GE, recorded in github.com/NVIDIA/libredfish; set_system_boot_options in
// sushy/resources/system/system.py and insert_media in sushy/resources/manager/virtual_media.py, for X11 and X12; pull
// request 406 of github.com/bmc-toolbox/bmclib for EjectMedia; set_boot_device in
// ironic/drivers/modules/redfish/management.py and pull request 106 of github.com/DMTF/Redfishtool, for the boot mode;
// and the sources of the effects.
func Supermicro() Profile {
	return Profile{
		Name: "supermicro", Manufacturer: "Supermicro", SystemID: "1", ManagerID: "1",
		ManagerSlots: []Slot{
			{"VirtualMedia1", "Virtual Removable Media", anyMedia}, {"VirtualMedia2", "Virtual Removable Media", anyMedia},
		},
		SharedSlots: true, EjectIfInserted: true,
		BootTargets: []string{"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "UsbCd", "UefiBootNext", "UefiHttp"},
		CDTarget:    "UsbCd", DefaultBootMode: "Legacy",
		ResetTypes:   []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "PowerCycle"},
		ActionInfo:   true,
		BIOSSettings: "SD",
		Registry: RegistryNames{
			Attribute: "BiosAttributeRegistry.v1_0_0", File: "BiosAttributeRegistry", Registry: "BiosAttributeRegistry.1.0.0",
			ID: "BiosAttributeRegistry.1_0_0", Path: "/registries/BiosAttributeRegistry.1.0.0.json",
		},
		NumberedValues: true,
		ETags:          BodyETags,
		Without:        []string{enabledValues, modeValues, "LogicalProcessorCount", "CoreCount", "SupportedApplyTimes"},
		Refusals:       []Effect{RefuseParameters("Inserted", "WriteProtected")},
		Quirks: []Fault{
			{On: sessionsPath, Method: "POST", Do: Redirect(http.StatusTemporaryRedirect, "*/")},
			{Do: EmptyInserted()},
		},
	}
}

// Gigabyte has a BMC with firmware of AMI. Its slot of virtual media has no media types, and its BIOS settings have no
// settings object.
//
// Source: the Redfish service of an H262-Z63, recorded in github.com/Cray-HPE/csm-redfish-interface-emulator; for
// RequireIfMatch pull request 6434 of github.com/ansible-collections/community.general.
func Gigabyte() Profile {
	return Profile{
		Name: "gigabyte", Manufacturer: "GIGABYTE", Vendor: "AMI", SystemID: "Self", ManagerID: "Self",
		ManagerSlots: []Slot{{"CD1", "virtual CD1", []string{"CD", "DVD"}}}, EmptyImage: "None",
		BootTargets: []string{
			"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "UefiShell", "UefiTarget", "SDCard", "UefiHttp",
			"RemoteDrive", "UefiBootNext",
		},
		ResetTypes:   []string{"GracefulShutdown", "ForceRestart", "ForceOff", "On"},
		ActionInfo:   true,
		BIOSInPlace:  true,
		BIOSPassword: "SETUP001",
		Registry:     RegistryNames{Attribute: "BiosAttributeRegistry", Path: registriesPath + "/BiosAttributeRegistry.json"},
		ETags:        WeakETags,
		Without:      []string{"MediaTypes", "LogicalProcessorCount", "CoreCount", "SupportedApplyTimes"},
		Refusals:     []Effect{RequireIfMatch()},
	}
}

// ASRockRack has a BMC with firmware of AMI, too, and wants the whole boot override in each change of it. For the rest
// it behaves as Gigabyte's.
//
// Source: VENDORS_REQUIRING_FULL_BOOT_REQUEST in ironic/drivers/modules/redfish/management.py.
func ASRockRack() Profile {
	p := Gigabyte()
	p.Name, p.Manufacturer, p.Refusals = "asrockrack", "ASRockRack", append(p.Refusals, WholeBoot())
	return p
}

// NVIDIA is a DGX H100. The board with the GPUs is a system of its own, the boot override is in the settings object,
// no boot mode is reported, and InsertMedia requires a user name and a password. The recorded BMC had no slot of
// virtual media; this one has Gigabyte's, whose firmware is by AMI, too.
//
// Source: the Redfish service of a DGX H100, recorded in github.com/NVIDIA/libredfish; is_credentials_required in
// sushy/resources/manager/virtual_media.py.
func NVIDIA() Profile {
	ami := Gigabyte()
	return Profile{
		Name: "nvidia", Manufacturer: "NVIDIA", Vendor: "AMI", SystemID: "DGX", ManagerID: "BMC", Baseboard: "HGX_Baseboard_0",
		ManagerSlots: ami.ManagerSlots, EmptyImage: ami.EmptyImage,
		BootTargets: []string{
			"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "Diags", "UefiShell", "UefiTarget", "SDCard", "UefiHttp",
			"RemoteDrive", "UefiBootNext",
		},
		BootModes: []string{"UEFI"}, Settings: "SD", BootInSettings: true,
		ResetTypes:   []string{"ForceOff", "ForceRestart", "GracefulShutdown", "On"},
		ActionInfo:   true,
		BIOSSettings: "SD",
		BIOSPassword: "AdminPassword",
		Registry: RegistryNames{
			Attribute: "BiosAttributeRegistry113.1.1.3", ID: "BiosAttributeRegistry113.en-US.1.1.3",
			Path: registriesPath + "/BiosAttributeRegistry113.en-US.1.1.3.json",
		},
		ETags: BodyETags,
		Without: []string{
			"MediaTypes", "BootSourceOverrideMode", "LogicalProcessorCount", "CoreCount", "InstructionSet", "MaxSpeedMHz",
			"SupportedApplyTimes",
		},
		Refusals: []Effect{RequireParameters("UserName", "Password")},
	}
}

// DMTF is the rack server that the authors of Redfish show as an example. Its slots of virtual media, which only the
// system links, have no actions, and there are no ETags.
//
// Source: public-rackmount1 of github.com/DMTF/Redfish-Mockup-Server, of DSP2043.
func DMTF() Profile {
	return Profile{
		Name: "dmtf", Manufacturer: "Contoso", SystemID: "437XR1138R2", ManagerID: "BMC",
		SystemSlots: []Slot{
			{"Floppy1", "Virtual Removable Media", []string{"Floppy", "USBStick"}}, {"CD1", "Virtual CD", []string{"CD", "DVD"}},
		},
		PatchedSlots: true,
		BootTargets:  []string{"None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "Diags", "SDCard", "UefiTarget"},
		ResetTypes:   []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "PushPowerButton"},
		Registry:     RegistryNames{Attribute: "BiosAttributeRegistryP89.v1_0_0"},
		ETags:        NoETags,
		Without:      []string{enabledValues, modeValues, "SupportedApplyTimes"},
	}
}
