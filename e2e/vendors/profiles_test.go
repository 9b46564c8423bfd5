// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/needs"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// The profile of a family in package bmctest agrees with the family's recorded trees.
func TestRecordedBMCsAreWhatTheProfilesSay(t *testing.T) {
	folder := needs.Given(t, "IRONSTATE_VENDORS", "recorded trees of BMCs")
	needs.Programs(t, "tar", "xz")
	trees, done, err := open(t.Context(), folder)
	t.Cleanup(done)
	require.NoError(t, err)
	profiles := map[string]bmctest.Profile{
		"dell": bmctest.Dell(), "hpe": bmctest.HPE(), "lenovo": bmctest.Lenovo(), "supermicro": bmctest.Supermicro(),
		"gigabyte": bmctest.Gigabyte(), "nvidia_viking": bmctest.NVIDIA(),
	}
	for _, tree := range trees {
		p, ok := profiles[tree.name]
		if !ok {
			continue
		}
		t.Run(tree.name, func(t *testing.T) {
			server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Profile: p})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, server.Close()) })
			get := func(path string) (o object) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+server.Addr+path, nil)
				require.NoError(t, err)
				r.SetBasicAuth(bmctest.DefaultUser, bmctest.DefaultPassword)
				answer, err := server.Client().Do(r)
				require.NoError(t, err)
				defer answer.Body.Close()
				require.NoError(t, json.NewDecoder(answer.Body).Decode(&o))
				return o
			}
			recorded, made := facts(p, tree.get), facts(p, get)
			if tree.name == "nvidia_viking" { // its virtual media was switched off, see bmctest.NVIDIA
				for name := range made {
					if strings.HasPrefix(name, "slot ") {
						require.Nil(t, recorded[name])
						delete(made, name)
						delete(recorded, name)
					}
				}
			}
			require.Equal(t, recorded, made)
			if known := tree.resets(tree.get(root + "/Systems/" + p.SystemID)); known != nil {
				for _, kind := range p.ResetTypes {
					require.Contains(t, known, kind)
				}
			}
		})
	}
}

// facts returns what a profile tells of the resources of a BMC.
func facts(p bmctest.Profile, get func(path string) object) map[string]any {
	system := get(root + "/Systems/" + p.SystemID)
	manager := get(linkOf(system, "Links", "ManagedBy"))
	settings := get(linkOf(system, "@Redfish.Settings", "SettingsObject"))
	bios := get(linkOf(system, "Bios"))
	boot := at(system, "Boot")
	if p.BootInSettings {
		boot = at(settings, "Boot")
	}
	reset := at(system, "Actions", "#ComputerSystem.Reset")
	f := map[string]any{
		"manufacturer":         system["Manufacturer"],
		"vendor":               get(root + "/")["Vendor"],
		"manager":              key(linkOf(system, "Links", "ManagedBy")),
		"settings":             key(linkOf(system, "@Redfish.Settings", "SettingsObject")),
		"settings have boot":   at(settings, "Boot")["BootSourceOverrideTarget"] != nil,
		"boot targets":         boot["BootSourceOverrideTarget@Redfish.AllowableValues"],
		"boot enabled":         boot["BootSourceOverrideEnabled@Redfish.AllowableValues"],
		"boot modes":           boot["BootSourceOverrideMode@Redfish.AllowableValues"],
		"boot mode":            boot["BootSourceOverrideMode"] != nil,
		"reset types are told": reset["ResetType@Redfish.AllowableValues"] != nil,
		"threads":              at(system, "ProcessorSummary")["LogicalProcessorCount"] != nil,
		"cores":                at(system, "ProcessorSummary")["CoreCount"] != nil,
		"slots of the system":  key(linkOf(system, "VirtualMedia")),
		"slots of the manager": key(linkOf(manager, "VirtualMedia")),
		"BIOS":                 key(linkOf(system, "Bios")),
		"BIOS settings":        key(linkOf(bios, "@Redfish.Settings", "SettingsObject")),
		"apply times":          at(bios, "@Redfish.Settings")["SupportedApplyTimes"] != nil,
		"registry":             bios["AttributeRegistry"],
	}
	if p.BIOSPassword != "" {
		value, has := at(bios, "Attributes")[p.BIOSPassword]
		f["BIOS password"] = []any{has, value}
	}
	tag, _ := system["@odata.etag"].(string)
	f["ETag"] = tag != ""
	f["weak ETag"] = strings.HasPrefix(tag, "W/")
	if len(p.SystemSlots) > 0 {
		addSlots(f, linkOf(system, "VirtualMedia"), p.SystemSlots, get)
	}
	addSlots(f, linkOf(manager, "VirtualMedia"), p.ManagerSlots, get)

	file := get(root + "/Registries/" + p.Registry.File)
	if p.Registry.File == "" {
		file = get(root + "/Registries/" + p.Registry.Attribute)
	}
	f["registry file"] = []any{file["Id"], file["Registry"]}
	locations, _ := file["Location"].([]any)
	english := slices.IndexFunc(locations, func(l any) bool {
		language, _ := l.(object)["Language"].(string)
		return strings.HasPrefix(language, "en")
	})
	if english >= 0 {
		uri, _ := locations[english].(object)["Uri"].(string)
		if p.Registry.Path != "" {
			f["registry path"] = key(uri)
		}
		f["registry ID"] = get(uri)["Id"]
	}
	return f
}

// addSlots adds the types of media and the actions of slots in a collection.
func addSlots(f map[string]any, collection string, slots []bmctest.Slot, get func(path string) object) {
	for _, s := range slots {
		slot := get(collection + "/" + s.ID)
		if slot == nil {
			continue
		}
		f["slot "+key(collection+"/"+s.ID)] = []any{
			slot["Name"], slot["MediaTypes"],
			at(slot, "Actions", "#VirtualMedia.InsertMedia") != nil, at(slot, "Actions", "#VirtualMedia.EjectMedia") != nil,
		}
	}
}

// linkOf returns the path of a link, or of the first of several, "" if there is none.
func linkOf(o object, names ...string) string {
	last := names[len(names)-1]
	o = at(o, names[:len(names)-1]...)
	link := o[last]
	if list, ok := link.([]any); ok && len(list) > 0 {
		link = list[0]
	}
	target, _ := link.(object)
	path, _ := target["@odata.id"].(string)
	return path
}
