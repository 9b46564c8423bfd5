// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestABadProfileIsRefused(t *testing.T) {
	for want, p := range map[string]bmctest.Profile{
		`Profile.SystemID is "a/b"`:                        {SystemID: "a/b"},
		`Profile.ManagerID is ".."`:                        {ManagerID: ".."},
		`Profile.Baseboard is "/"`:                         {Baseboard: "/"},
		`Systems.ID is "1"`:                                {Baseboard: "1"},
		`Profile.SystemSlots.ID is ""`:                     {SystemSlots: []bmctest.Slot{{}}},
		`Profile.ManagerSlots.ID is "a"`:                   {ManagerSlots: []bmctest.Slot{{ID: "a"}, {ID: "a"}}},
		`Profile.ETags is "odd": want one of ["strong"`:    {ETags: "odd"},
		`Profile.Settings is "": want the name`:            {BootInSettings: true},
		`Profile.DefaultBootMode is "BIOS": want one of `:  {DefaultBootMode: "BIOS"},
		`Profile.BIOSPassword is "AssetTag": want a name `: {BIOSPassword: "AssetTag"},
		`Profile.Refusals is "Status(500)": want effects `: {Refusals: []bmctest.Effect{bmctest.WholeBoot(), bmctest.Status(500)}},
	} {
		bmc, err := bmctest.NewRedfish(bmctest.RedfishConfig{Profile: p})
		require.Nil(t, bmc)
		require.ErrorContains(t, err, want)
	}
}

// A fault of a family's effect refuses some requests and leaves all others alone, as a profile does with it.
func TestEffectsOfFamiliesRefuseSomeRequests(t *testing.T) {
	const bad, post = http.StatusBadRequest, http.MethodPost
	for _, test := range []struct {
		do                 bmctest.Effect
		method, path       string
		refused, accepted  string // bodies
		status             int
		messageID          string
		header, headerHelp string // a header of the accepted request
	}{
		{do: bmctest.RefuseContinuous(), method: patch, path: system, status: bad, messageID: "PropertyValueNotInList",
			refused: `{"Boot": {"BootSourceOverrideEnabled": "Continuous"}}`, accepted: `{"Boot": {"BootSourceOverrideEnabled": "Once"}}`},
		{do: bmctest.WholeBoot(), method: patch, path: system, status: bad, messageID: "PropertyMissing",
			refused:  `{"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}`,
			accepted: `{"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "UEFI"}}`},
		{do: bmctest.RequireParameters("UserName", "Password"), method: post, path: insert, status: bad, messageID: "ActionParameterMissing",
			refused: `{"Image": "` + iso + `", "UserName": "a"}`, accepted: `{"Image": "` + iso + `", "UserName": "a", "Password": "b"}`},
		{do: bmctest.RefuseParameters("Inserted"), method: post, path: insert, status: bad, messageID: "ActionParameterUnknown",
			refused: `{"Image": "` + iso + `", "Inserted": true}`, accepted: `{"Image": "` + iso + `"}`},
		{do: bmctest.RequireEjectBody(), method: post, path: eject, status: http.StatusUnsupportedMediaType, messageID: "GeneralError",
			refused: ``, accepted: `{}`},
		{do: bmctest.PoweringOff(), method: post, path: reset, status: http.StatusConflict, messageID: "ActionParameterValueConflict",
			refused: `{"ResetType": "On"}`, accepted: `{"ResetType": "ForceOff"}`},
		{do: bmctest.RequireIfMatch(), method: patch, path: system, status: http.StatusPreconditionRequired, messageID: "PreconditionRequired",
			refused: `{"Boot": {}}`, accepted: `{"Boot": {}}`, header: "If-Match", headerHelp: "*"},
	} {
		t.Run(test.do.String(), func(t *testing.T) {
			for _, config := range []bmctest.RedfishConfig{
				{Faults: []bmctest.Fault{{Do: test.do}}}, {Profile: bmctest.Profile{Refusals: []bmctest.Effect{test.do}}},
			} {
				bmc := newRedfish(t, config)
				refused := ask(t, bmc, test.method, test.path, test.refused)
				require.Equal(t, test.status, refused.StatusCode)
				require.Equal(t, test.messageID, refused.messageID(t))
				var header []string
				if test.header != "" {
					header = []string{test.header, test.headerHelp}
				}
				require.Less(t, ask(t, bmc, test.method, test.path, test.accepted, header...).StatusCode, 300)
				require.Equal(t, 200, ask(t, bmc, get, system, "").StatusCode)
			}
		})
	}
}

func TestABusyBMCRefusesChangesForAWhile(t *testing.T) {
	bmc := newRedfish(t,
		bmctest.RedfishConfig{Faults: []bmctest.Fault{{Times: 3, Do: bmctest.Busy("iLO.2.16.UnableToModifyDuringSystemPOST")}}})
	require.Equal(t, 200, ask(t, bmc, get, system, "").StatusCode)
	for _, status := range []int{400, 400, 400, 200} {
		r := ask(t, bmc, patch, system, `{"Boot": {"BootSourceOverrideTarget": "Pxe"}}`)
		require.Equal(t, status, r.StatusCode)
		require.Equal(t, status == 400, len(r.body) > 0 && string(r.body) != "" && r.Header.Get("ETag") == "")
	}
	require.Equal(t, "Pxe Disabled UEFI", bmc.Boot("1"))
}

func TestETagsOfFamilies(t *testing.T) {
	for name, test := range map[string]struct {
		profile  bmctest.Profile
		do       bmctest.Effect
		accepted map[string]int // statuses by the change of the tag that was sent
	}{
		"strong":   {accepted: map[string]int{"T": 200, "W/T": 412, `"7"`: 412, "*": 200}},
		"weak":     {profile: bmctest.Profile{ETags: bmctest.WeakETags}, accepted: map[string]int{"T": 200, "-W/": 412, "*": 200}},
		"weakened": {do: bmctest.WeakenedETag(), accepted: map[string]int{"T": 412, "-W/": 200}},
		"wrong":    {do: bmctest.WrongETag(`"7"`), accepted: map[string]int{"T": 412, "*": 200}},
		"unsent":   {do: bmctest.WrongETag(""), accepted: map[string]int{"": 200, "*": 200}},
		"none":     {profile: bmctest.Profile{ETags: bmctest.NoETags}, accepted: map[string]int{"": 200, `"7"`: 412, "*": 200}},
	} {
		t.Run(name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{Profile: test.profile, Faults: []bmctest.Fault{{Method: get, Do: test.do}}})
			for as, want := range test.accepted {
				tag := ask(t, bmc, get, system, "").Header.Get("ETag")
				match := map[string]string{"T": tag, "W/T": "W/" + tag, "-W/": tag[min(2, len(tag)):]}[as]
				if match == "" {
					match = as
				}
				r := ask(t, bmc, patch, system, `{"Boot": {}}`, "If-Match", match)
				require.Equal(t, want, r.StatusCode, "%s: %s", as, match)
			}
		})
	}
}

func TestStaleMediaShowAnImageInEachSlot(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Faults: []bmctest.Fault{{Method: get, Do: bmctest.StaleMedia(iso)}}})
	require.Equal(t, iso, read(t, bmc, cd)["Image"])
	require.Equal(t, true, read(t, bmc, usb)["Inserted"])
	require.NotContains(t, read(t, bmc, system), "Inserted")
	require.Empty(t, bmc.Media(""))
}

func TestSlotsOfFamilies(t *testing.T) {
	lenovo := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Lenovo()})
	const below = "/VirtualMedia/EXT1"
	require.Equal(t, 200, ask(t, lenovo, patch, system+below, `{"Image": "`+iso+`"}`).StatusCode)
	require.Empty(t, lenovo.Media(""), "the client has not said that it is inserted")
	require.Equal(t, 200, ask(t, lenovo, patch, system+below, `{"Image": "`+iso+`", "Inserted": true}`).StatusCode)
	require.Equal(t, iso, lenovo.Media("EXT1"))
	require.Empty(t, lenovo.Media("EXT2"))
	require.Equal(t, iso, read(t, lenovo, "/redfish/v1/Managers/1"+below)["Image"], "it is the same slot")
	require.Equal(t, 404, ask(t, lenovo, post, system+below+"/Actions/VirtualMedia.EjectMedia", `{}`).StatusCode)
	require.Equal(t, 404, ask(t, lenovo, get, system+"/VirtualMedia/CD", "").StatusCode)

	supermicro := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Supermicro()})
	const first = "/redfish/v1/Managers/1/VirtualMedia/VirtualMedia1"
	for _, full := range []bool{false, true} {
		actions := read(t, supermicro, first)["Actions"].(map[string]any)
		require.Equal(t, full, actions["#VirtualMedia.EjectMedia"] != nil)
		status := map[bool]int{false: 404, true: 204}[full]
		require.Equal(t, status, ask(t, supermicro, post, first+"/Actions/VirtualMedia.EjectMedia", `{}`).StatusCode)
		require.Equal(t, 204, ask(t, supermicro, post, first+"/Actions/VirtualMedia.InsertMedia", `{"Image": "`+iso+`"}`).StatusCode)
	}
	require.Equal(t, 404, ask(t, supermicro, get, system+"/VirtualMedia/VirtualMedia1", "").StatusCode)
	require.Equal(t, "None", read(t, newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Gigabyte()}),
		"/redfish/v1/Managers/Self/VirtualMedia/CD1")["Image"])
}

func TestACDIsFoundAtTheTargetOfTheFamily(t *testing.T) {
	for target, want := range map[string]string{"UsbCd": "Cd " + iso, "Cd": "Cd ", "Usb": "Usb " + iso, "Pxe": "Pxe "} {
		var boots []string
		bmc := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Supermicro(),
			Systems: []bmctest.System{{OnPower: func(_ bool, source, image string) {
				boots = append(boots, source+" "+image)
			}}}})
		require.Equal(t, 204, ask(t, bmc, post, "/redfish/v1/Managers/1/VirtualMedia/VirtualMedia1/Actions/VirtualMedia.InsertMedia",
			`{"Image": "`+iso+`"}`).StatusCode)
		require.Equal(t, 200, ask(t, bmc, patch, system,
			`{"Boot": {"BootSourceOverrideTarget": "`+target+`", "BootSourceOverrideEnabled": "Once"}}`).StatusCode)
		require.Equal(t, 204, ask(t, bmc, post, reset, `{"ResetType": "On"}`).StatusCode)
		require.Equal(t, []string{want}, boots)
	}
}

func TestABootOverrideInTheSettingsIsShownOnceTheSystemHasBooted(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.NVIDIA()})
	const dgx = "/redfish/v1/Systems/DGX"
	const body = `{"Boot": {"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Continuous"}}`
	require.Equal(t, 405, ask(t, bmc, patch, dgx, body).StatusCode)
	require.Equal(t, 200, ask(t, bmc, patch, dgx+"/SD", body).StatusCode)
	target := func(path string) any { return read(t, bmc, path)["Boot"].(map[string]any)["BootSourceOverrideTarget"] }
	require.Equal(t, []any{"None", "Hdd"}, []any{target(dgx), target(dgx + "/SD")})
	require.Equal(t, 204, ask(t, bmc, post, dgx+"/Actions/ComputerSystem.Reset", `{"ResetType": "On"}`).StatusCode)
	require.Equal(t, "Hdd", target(dgx))
	require.Equal(t, 400, ask(t, bmc, post, dgx+"/Actions/ComputerSystem.Reset", `{"ResetType": "Nmi"}`).StatusCode)

	board := read(t, bmc, "/redfish/v1/Systems/HGX_Baseboard_0")
	require.NotContains(t, board, "Boot")
	require.NotContains(t, board, "Actions")

	pending := newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Lenovo()})
	require.Equal(t, 405, ask(t, pending, patch, system+"/Pending", body).StatusCode)
	require.NotContains(t, read(t, pending, system+"/Pending")["Boot"], "BootSourceOverrideTarget")
}

func TestWhatAProfileLacksIsInNoResource(t *testing.T) {
	bmc := newRedfish(t,
		bmctest.RedfishConfig{Profile: bmctest.Profile{Without: []string{"MediaTypes", "TotalSystemMemoryGiB"}, Missing: []string{"Memory"}}})
	require.NotContains(t, read(t, bmc, cd), "MediaTypes")
	require.NotContains(t, read(t, bmc, system)["MemorySummary"], "TotalSystemMemoryGiB")
	require.Contains(t, read(t, bmc, system), "Memory")
	for _, path := range []string{"/Memory", "/Memory/DIMM1"} {
		require.Equal(t, 404, ask(t, bmc, get, system+path, "").StatusCode)
	}
	require.Equal(t, 200, ask(t, bmc, get, system+"/Processors", "").StatusCode)
	require.Empty(t, newRedfish(t, bmctest.RedfishConfig{Profile: bmctest.Profile{ManagerSlots: []bmctest.Slot{}}}).Media(""))
}
