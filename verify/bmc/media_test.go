// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	slotCD = "/redfish/v1/Managers/bmc/VirtualMedia/CD"
	image  = "https://images.example/agent.iso"
)

func TestVirtualMediaAreInsertedShownAndEjected(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
	ctx := t.Context()
	require.NoError(t, d.InsertMedia(ctx, "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	require.NoError(t, d.InsertMedia(ctx, "node", "floppy", image+"?floppy"))
	require.Equal(t, image+"?floppy", server.Media("USB"))
	media, err := d.VirtualMedia(ctx, "node")
	require.NoError(t, err)
	require.Equal(t, []bmc.VirtualMedia{
		{Image: image, Inserted: true, MediaTypes: []string{"CD", "DVD"}},
		{Image: image + "?floppy", Inserted: true, MediaTypes: []string{"USBStick", "Floppy"}},
	}, media)

	require.NoError(t, d.InsertMedia(ctx, "node", "cdrom", image+"?2"), "what was inserted is ejected")
	require.Equal(t, image+"?2", server.Media("CD"))
	require.NoError(t, d.EjectMedia(ctx, "node", "cdrom"))
	require.Empty(t, server.Media("CD"))
	require.NotEmpty(t, server.Media("USB"))
	require.NoError(t, d.EjectMedia(ctx, "node"))
	require.Empty(t, server.Media("USB"))
	require.NoError(t, d.EjectMedia(ctx, "node"), "nothing is inserted")
	require.Equal(t, 1, server.Logins().Attempts)
}

// Newer BMCs, and sushy-tools, have the virtual media below the system.
func TestVirtualMediaMayBelongToTheSystem(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: systemPath,
		Do: bmctest.Property("VirtualMedia", map[string]any{"@odata.id": "/redfish/v1/Managers/bmc/VirtualMedia"})})
	server.AddFault(bmctest.Fault{On: "/redfish/v1/Managers/bmc", Do: bmctest.Status(http.StatusNotFound)})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.Empty(t, server.Media("CD"))
}

// A BMC that links slots and does not have them at the link may have an image in one, and fails also in Ironic.
func TestASlotThatIsLinkedAndNotThereIsNotTakenForEmpty(t *testing.T) {
	const managerSlots = "/redfish/v1/Managers/bmc/VirtualMedia"
	linked := bmctest.Fault{On: systemPath, Method: http.MethodGet,
		Do: bmctest.Property("VirtualMedia", map[string]any{"@odata.id": systemPath + "/VirtualMedia"})}
	empty := bmctest.Fault{On: managerSlots, Do: bmctest.Property("Members", []any{})}
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented} {
		absent := bmctest.Fault{On: managerSlots, Do: bmctest.Status(status)}
		for name, faults := range map[string][]bmctest.Fault{"the manager's": {absent}, "both": {linked, absent}} {
			d, server := vendorDriver(t)
			require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
			for _, fault := range faults {
				server.AddFault(fault)
			}
			require.ErrorIs(t, d.EjectMedia(t.Context(), "node", "cdrom"), verify.Unsupported, name)
			require.Equal(t, image, server.Media("CD"), name)
			_, err := d.VirtualMedia(t.Context(), "node")
			require.ErrorIs(t, err, verify.Unsupported, name)
		}
	}
	d, server := vendorDriver(t, linked)
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"), "the manager has slots")
	require.Empty(t, server.Media("CD"))
	server.AddFault(empty)
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"), "the manager has no slots")
	d, _ = vendorDriver(t,
		bmctest.Fault{On: systemPath, Method: http.MethodGet, Do: bmctest.WithoutProperty("Links")},
		bmctest.Fault{On: "/redfish/v1/Managers", Do: bmctest.Status(http.StatusNotFound)},
	)
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"), "nothing has slots")
}

func TestVirtualMediaThatCannotBeUsedAreAnError(t *testing.T) {
	insert := func(d *bmc.Driver, t *testing.T) error { return d.InsertMedia(t.Context(), "node", "cdrom", image) }
	eject := func(d *bmc.Driver, t *testing.T) error { return d.EjectMedia(t.Context(), "node") }
	without := bmctest.Fault{On: slotCD, Method: http.MethodGet,
		Do: bmctest.Change("neither actions nor PATCH", func(h http.Header, body []byte) []byte {
			h.Set("Allow", "GET, HEAD")
			return []byte(strings.Replace(string(body), `"Actions"`, `"Others"`, 1))
		})}
	elsewhere := bmctest.Fault{On: slotCD, Do: bmctest.Property("Actions", map[string]any{
		"#VirtualMedia.InsertMedia": map[string]any{"target": "https://other.invalid/x"},
		"#VirtualMedia.EjectMedia":  map[string]any{"target": "@other.invalid/x"},
	})}
	for name, test := range map[string]struct {
		faults []bmctest.Fault
		do     func(*bmc.Driver, *testing.T) error
		want   error
	}{
		"insert without an action": {[]bmctest.Fault{without}, insert, verify.Unsupported},
		"eject without an action":  {[]bmctest.Fault{without}, eject, verify.Unsupported},
		"insert into another host": {[]bmctest.Fault{elsewhere}, insert, verify.Unsupported},
		"eject from another host":  {[]bmctest.Fault{elsewhere}, eject, verify.Unsupported},
		"a refused insertion": {[]bmctest.Fault{{On: slotCD + "/Actions/VirtualMedia.InsertMedia",
			Do: bmctest.Status(http.StatusBadRequest)}}, insert, verify.Protocol},
		"a refused ejection": {[]bmctest.Fault{{On: slotCD + "/Actions/VirtualMedia.EjectMedia",
			Do: bmctest.Status(http.StatusInternalServerError)}}, eject, verify.Protocol},
		"no virtual media": {[]bmctest.Fault{{On: "/redfish/v1/Managers/bmc", Do: bmctest.WithoutProperty("VirtualMedia")}},
			insert, verify.Unsupported},
		"a manager that cannot be read": {[]bmctest.Fault{{On: "/redfish/v1/Managers/bmc",
			Do: bmctest.Status(http.StatusInternalServerError)}}, insert, verify.Protocol},
		"a slot that is null": {[]bmctest.Fault{{On: "/redfish/v1/Managers/bmc/VirtualMedia",
			Do: bmctest.Property("Members", []any{nil})}}, eject, verify.Protocol},
		"an unknown device": {nil, func(d *bmc.Driver, t *testing.T) error {
			return d.InsertMedia(t.Context(), "node", "tape", image)
		}, verify.Misconfigured},
		"ejection of an unknown device": {nil, func(d *bmc.Driver, t *testing.T) error {
			return d.EjectMedia(t.Context(), "node", "tape")
		}, verify.Misconfigured},
		"no image": {nil, func(d *bmc.Driver, t *testing.T) error {
			return d.InsertMedia(t.Context(), "node", "cdrom", "")
		}, verify.Misconfigured},
		"an insertion that has no response": {[]bmctest.Fault{{On: slotCD + "/Actions/VirtualMedia.InsertMedia", Do: bmctest.CloseAfter(0)}},
			insert, verify.Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
			if name != "a refused insertion" && name != "an insertion that has no response" {
				require.NoError(t, insert(d, t))
			}
			for _, f := range test.faults {
				server.AddFault(f)
			}
			require.ErrorIs(t, test.do(d, t), test.want)
		})
	}
}

// A ThinkSystem has ten slots at the system and at the manager, so that an insertion takes 27 requests.
func TestManySlotsNeedMoreThanTheLimitsOfACall(t *testing.T) {
	server := startRedfish(t, func(c *bmctest.RedfishConfig) {
		for i := range 20 {
			c.Profile.ManagerSlots = append(c.Profile.ManagerSlots, bmctest.Slot{ID: fmt.Sprint(i), MediaTypes: []string{"Floppy"}})
		}
		c.Profile.ManagerSlots = append(c.Profile.ManagerSlots, bmctest.Slot{ID: "CD", MediaTypes: []string{"CD"}})
	})
	config := configOf(server)
	config.Timeout, config.MaxRequests = time.Nanosecond, 10 // of a call that is not long
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	require.Equal(t, image, server.Media("CD"))
	media, err := d.VirtualMedia(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, media, 21)
	require.NoError(t, d.EjectMedia(t.Context(), "node"))
	require.Empty(t, server.Media("CD"))
}

// An insertion whose response is lost may have been done: it is not repeated.
func TestAnInsertionWithoutAnAnswerIsNotRepeated(t *testing.T) {
	server := startRedfish(t)
	const action = slotCD + "/Actions/VirtualMedia.InsertMedia"
	server.AddFault(bmctest.Fault{On: action, Do: bmctest.CloseAfter(0)})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	require.Error(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	posts := 0
	for _, asked := range server.Requests() {
		if asked.Path == action {
			posts++
		}
	}
	require.Equal(t, 1, posts)
}

func TestThePasswordOfAnImageIsInNoError(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: slotCD + "/Actions/VirtualMedia.InsertMedia",
		Do: bmctest.Handle("echo", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": {"message": "https://u:image-password@h/x.iso cannot be read with image-password"}}`))
		})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	err := d.InsertMedia(t.Context(), "node", "cdrom", "https://u:image-password@h/x.iso")
	require.ErrorIs(t, err, verify.Protocol)
	require.Contains(t, err.Error(), "cannot be read")
	require.NotContains(t, err.Error(), "image-password")
}
