// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// Lenovo's slots have no actions.
func TestASlotWithoutActionsIsChanged(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{PatchedSlots: true})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.Empty(t, server.Media("CD"))
}

// An iLO 4 refuses what it does not know.
func TestASlotWithoutActionsMayKnowNothingButTheImage(t *testing.T) {
	var seen refusing
	const unknown = `{"error": {"@Message.ExtendedInfo": [{"MessageID": "Base.0.10.PropertyUnknown", "MessageArgs": ["Inserted"]}]}}`
	fault := bmctest.Fault{On: slotCD, Method: http.MethodPatch, Do: seen.effect(func(_ *http.Request, body string) (int, string) {
		if strings.Contains(body, "Inserted") {
			return http.StatusBadRequest, unknown
		}
		return 0, ""
	})}
	d, server := profileDriver(t, bmctest.Profile{PatchedSlots: true}, fault)
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	server.AddFault(bmctest.Fault{On: slotCD, Method: http.MethodGet, Do: bmctest.StaleMedia(image)})
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.Equal(t, []string{
		`{"Image":"` + image + `","Inserted":true,"WriteProtected":true}`, `{"Image":"` + image + `"}`,
		`{"Image":null,"Inserted":false}`, `{"Image":null}`,
	}, seen.bodies)
}

// AMI's slots have no media types.
func TestTheNameOfASlotTellsItsDevice(t *testing.T) {
	for id, fits := range map[string]string{
		"CD1":       "cdrom",
		"DVD":       "cdrom",
		"FD1":       "floppy",
		"Floppy":    "floppy",
		"HD1":       "disk",
		"Removable": "disk",
		"USB":       "disk",
		"EXT1":      "cdrom floppy disk",
	} {
		gone := bmctest.Slot{ID: "gone"}
		d, server := profileDriver(t, bmctest.Profile{
			ManagerSlots: []bmctest.Slot{{ID: id, Name: "Virtual Media", MediaTypes: []string{"CD"}}, gone}, Without: []string{"MediaTypes"},
		}, bmctest.Fault{On: "/redfish/v1/Managers/bmc/VirtualMedia/gone", Do: bmctest.Status(http.StatusNotFound)})
		for _, device := range []string{"cdrom", "floppy", "disk"} {
			err := d.InsertMedia(t.Context(), "node", device, image)
			require.Equal(t, strings.Contains(fits, device), err == nil, "%s %s: %v", id, device, err)
			require.Equal(t, strings.Contains(fits, device), server.Media("") == image, "%s %s", id, device)
			_ = d.EjectMedia(t.Context(), "node") // the slot that cannot be read is an error
			require.Empty(t, server.Media(""))
		}
	}
}

func TestParametersThatABMCRequiresAreSent(t *testing.T) {
	for image, protocol := range map[string]string{"http://h/a.iso": "HTTP", "https://h/a.iso": "HTTPS"} {
		var seen refusing
		d, _ := vendorDriver(t, bmctest.Fault{On: insertCD, Do: seen.effect(func(_ *http.Request, body string) (int, string) {
			for _, name := range []string{"UserName", "TransferMethod", "TransferProtocolType"} {
				if !strings.Contains(body, name) {
					return http.StatusBadRequest, "the parameter " + name + " is missing"
				}
			}
			return 0, ""
		})})
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		require.Equal(t, []string{
			`{"Image":"` + image + `"}`,
			`{"Image":"` + image + `","Password":"none","UserName":"none"}`,
			`{"Image":"` + image + `","Password":"none","TransferMethod":"Stream","UserName":"none"}`,
			`{"Image":"` + image + `","Password":"none","TransferMethod":"Stream","TransferProtocolType":"` + protocol + `","UserName":"none"}`,
		}, seen.bodies)
	}
	var seen refusing
	d, _ := vendorDriver(t, bmctest.Fault{On: insertCD,
		Do: seen.effect(func(*http.Request, string) (int, string) { return 400, "TransferMethod" })})
	require.ErrorIs(t, d.InsertMedia(t.Context(), "node", "cdrom", image), verify.Protocol)
	require.Len(t, seen.bodies, 2, "a parameter that has been sent is not missing")
}

func TestAnInsertionIsRepeatedWhileTheBMCEjects(t *testing.T) {
	d, server := vendorDriver(t, bmctest.Fault{On: insertCD, Times: 2, Do: bmctest.Status(http.StatusInternalServerError)})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))

	d, _ = vendorDriver(t, bmctest.Fault{On: insertCD, Times: 3, Do: bmctest.Status(http.StatusInternalServerError)})
	require.ErrorIs(t, d.InsertMedia(t.Context(), "node", "cdrom", image), verify.Protocol)
}

// An iDRAC reports an image for a while after it was ejected.
func TestAnEjectedImageThatStillSeemsToBeThereIsReplaced(t *testing.T) {
	d, server := vendorDriver(t,
		bmctest.Fault{On: slotCD, Do: bmctest.StaleMedia("http://h/old.iso")},
		bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusConflict)})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	require.ErrorIs(t, d.EjectMedia(t.Context(), "node", "cdrom"), verify.Protocol, "it still seems to be there")
}

func TestARefusedEjectionOfAnEmptySlotIsNone(t *testing.T) {
	d, server := vendorDriver(t)
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	server.AddFault(bmctest.Fault{On: slotCD, Skip: 1, Do: bmctest.Property("Inserted", false)})
	server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusInternalServerError)})
	require.NoError(t, d.EjectMedia(t.Context(), "node"))
}

func TestAnEjectionIsRepeatedWithoutABody(t *testing.T) {
	for status, want := range map[int][]string{400: {"{}", ""}, 415: {"{}", ""}, 404: {"{}"}} {
		var seen refusing
		d, _ := vendorDriver(t)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		d, server := vendorDriver(t, bmctest.Fault{On: ejectCD, Do: seen.effect(func(_ *http.Request, body string) (int, string) {
			return status, strings.Trim(body, " ")
		})})
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		require.Equal(t, image, server.Media("CD"))
		err := d.EjectMedia(t.Context(), "node")
		require.Equal(t, status != 404, err == nil, "%d: %v", status, err)
		require.Equal(t, want, seen.bodies)
	}
}

func TestAnImageIsComparedByItsName(t *testing.T) {
	for _, test := range []struct {
		slot bmc.VirtualMedia
		want bool
	}{
		{bmc.VirtualMedia{Image: image, Inserted: true}, true},
		{bmc.VirtualMedia{Image: image}, false},
		{bmc.VirtualMedia{Inserted: true}, true},
		{bmc.VirtualMedia{Image: "agent.iso", Inserted: true}, true},
		{bmc.VirtualMedia{Image: `\agent.iso`, Inserted: true}, true},
		{bmc.VirtualMedia{Image: "https://other/x/agent.iso?a=b", Inserted: true}, true},
		{bmc.VirtualMedia{Image: "https://images.example/other.iso", Inserted: true}, false},
	} {
		require.Equal(t, test.want, test.slot.Has(image), "%+v", test.slot)
	}
}

// An image may be in a slot of the manager, although a firmware update has brought slots of the system.
func TestASlotForDVDsAloneTakesACD(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{ManagerSlots: []bmctest.Slot{{ID: "1", MediaTypes: []string{"DVD"}}}})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("1"))
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.Empty(t, server.Media("1"))
}

// Some iDRACs 10 boot from their slot 1 only, and list their slot 2 before it.
func TestTheFirstOfTwoSlotsIsUsed(t *testing.T) {
	for _, test := range []struct {
		listed []string
		want   string
	}{
		{[]string{"1", "2"}, "1"}, {[]string{"2", "1"}, "1"}, {[]string{"10", "9"}, "9"}, {[]string{"CD2", "CD1"}, "CD2"},
		{[]string{"CD", "2", "1"}, "1"},
	} {
		var slots []bmctest.Slot
		for _, id := range test.listed {
			slots = append(slots, bmctest.Slot{ID: id, MediaTypes: []string{"CD", "DVD"}})
		}
		d, server := profileDriver(t, bmctest.Profile{SystemSlots: slots})
		for range 2 {
			require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
			for _, id := range test.listed {
				require.Equal(t, id == test.want, server.Media(id) == image, "%v: %s", test.listed, id)
			}
			require.NoError(t, d.EjectMedia(t.Context(), "node"))
		}
	}
}

// A machine may boot the image of any slot.
func TestAnInsertionEjectsTheImagesOfAllSlotsForTheDevice(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{SystemSlots: []bmctest.Slot{
		{ID: "1", MediaTypes: []string{"CD"}}, {ID: "2", MediaTypes: []string{"DVD"}}, {ID: "3", MediaTypes: []string{"USBStick"}},
	}})
	first := "/redfish/v1/Systems/1/VirtualMedia/1/Actions/VirtualMedia.InsertMedia"
	server.AddFault(bmctest.Fault{On: first, Times: 1, Do: bmctest.Status(http.StatusBadRequest)})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.NoError(t, d.InsertMedia(t.Context(), "node", "disk", image))
	require.Equal(t, []string{"", image, image}, []string{server.Media("1"), server.Media("2"), server.Media("3")})

	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image+"?2"))
	require.Equal(t, []string{image + "?2", "", image}, []string{server.Media("1"), server.Media("2"), server.Media("3")})
}

// The image may be another program's, and Ironic leaves it there.
func TestAnInsertionEjectsNoImageOfAnotherResource(t *testing.T) {
	const managers, older = "/redfish/v1/Managers", "https://images.example/older.iso"
	profile := bmctest.Profile{ManagerSlots: []bmctest.Slot{{ID: "CD", MediaTypes: []string{"CD"}}}}
	ofBoth := profile
	ofBoth.SystemSlots = []bmctest.Slot{{ID: "1", MediaTypes: []string{"CD"}}, {ID: "2", MediaTypes: []string{"CD"}}}
	other := []bmctest.Fault{ // a manager before the one that the BMC has
		{On: systemPath, Method: http.MethodGet, Do: bmctest.Property("Links", map[string]any{"ManagedBy": []any{
			map[string]any{"@odata.id": managers + "/other"}, map[string]any{"@odata.id": managers + "/bmc"}}})},
		{On: managers + "/other", Do: bmctest.Body(`{"Id": "other", "VirtualMedia": {"@odata.id": "` + managers + `/other/VirtualMedia"}}`)},
		{On: managers + "/other/VirtualMedia", Do: bmctest.Body(`{"Members": [{"@odata.id": "` + managers + `/other/VirtualMedia/1"}]}`)},
		{On: managers + "/other/VirtualMedia/1", Do: bmctest.Body(`{"Id": "1", "Inserted": false, "MediaTypes": ["CD"],
			"Actions": {"#VirtualMedia.InsertMedia": {"target": "` + managers + `/other/insert"}}}`)},
		{On: managers + "/other/insert", Do: bmctest.Body("{}")},
	}
	for name, test := range map[string]struct {
		profile bmctest.Profile
		faults  []bmctest.Fault
		refuses []string // the slots that refuse the image
		ejected bool
	}{
		"the system's slot":                 {ofBoth, nil, nil, false},
		"the system's other slot":           {ofBoth, nil, []string{systemPath + "/VirtualMedia/1"}, false},
		"the manager's, after the system's": {ofBoth, nil, []string{systemPath + "/VirtualMedia/1", systemPath + "/VirtualMedia/2"}, true},
		"the first manager's":               {profile, other, nil, false},
	} {
		d, server := profileDriver(t, test.profile)
		for _, slot := range test.refuses {
			server.AddFault(bmctest.Fault{On: slot + "/Actions/VirtualMedia.InsertMedia", Do: bmctest.Status(http.StatusBadRequest)})
		}
		server.AddFault(bmctest.Fault{On: slotCD, Do: bmctest.StaleMedia(older)})
		for _, fault := range test.faults {
			server.AddFault(fault)
		}
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image), name)
		require.Equal(t, test.ejected, count(server, http.MethodPost, ejectCD) > 0, name)
	}
}

func TestSlotsOfTheSystemAndOfTheManagerAreUsed(t *testing.T) {
	d, server := profileDriver(t, bmctest.Profile{
		SystemSlots:  []bmctest.Slot{{ID: "1", MediaTypes: []string{"Floppy"}}},
		ManagerSlots: []bmctest.Slot{{ID: "CD", MediaTypes: []string{"CD", "DVD"}}},
	})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	media, err := d.VirtualMedia(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []bmc.VirtualMedia{{MediaTypes: []string{"Floppy"}},
		{Image: image, Inserted: true, MediaTypes: []string{"CD", "DVD"}}}, media)
	require.NoError(t, d.EjectMedia(t.Context(), "node"))
	require.Empty(t, server.Media("CD"))
}
