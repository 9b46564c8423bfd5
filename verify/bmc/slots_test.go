// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

const (
	slotUSB  = "/redfish/v1/Managers/bmc/VirtualMedia/USB"
	ejectUSB = slotUSB + "/Actions/VirtualMedia.EjectMedia"
)

// ownSlot is a profile whose system has a slot of virtual media beside its manager's.
var ownSlot = bmctest.Profile{
	SystemSlots:  []bmctest.Slot{{ID: "1", MediaTypes: []string{"Floppy"}}},
	ManagerSlots: []bmctest.Slot{{ID: "CD", MediaTypes: []string{"CD", "DVD"}}, {ID: "USB", MediaTypes: []string{"USBStick", "Floppy"}}},
}

// count counts the requests of a method to a path.
func count(server *bmctest.Redfish, method, path string) int {
	n := 0
	for _, asked := range server.Requests() {
		if asked.Method == method && asked.Path == path {
			n++
		}
	}
	return n
}

func TestAnImageOfTheManagersSlotsIsShownOnce(t *testing.T) {
	const other = "http://h/other.iso"
	cd := bmc.VirtualMedia{Image: image, Inserted: true, MediaTypes: []string{"CD", "DVD"}}
	usb := bmc.VirtualMedia{Image: other, Inserted: true, MediaTypes: []string{"USBStick", "Floppy"}}
	for _, test := range []struct {
		image    string
		inserted bool
		want     []bmc.VirtualMedia
	}{
		{"", false, []bmc.VirtualMedia{cd, usb}},
		{image, true, []bmc.VirtualMedia{usb}},
		{image, false, []bmc.VirtualMedia{cd, usb}},
	} {
		d, _ := profileDriver(t, ownSlot, bmctest.Fault{On: systemPath + "/VirtualMedia/1", Do: changeObject("own", func(o map[string]any) {
			o["Image"], o["Inserted"] = test.image, test.inserted
		})})
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		require.NoError(t, d.InsertMedia(t.Context(), "node", "disk", other))
		media, err := d.VirtualMedia(t.Context(), "node")
		require.NoError(t, err)
		own := bmc.VirtualMedia{Image: test.image, Inserted: test.inserted, MediaTypes: []string{"Floppy"}}
		require.Equal(t, append([]bmc.VirtualMedia{own}, test.want...), media)
	}
}

func TestASlotThatTheSystemAndItsManagerLinkIsOne(t *testing.T) {
	d, _ := profileDriver(t, bmctest.Profile{SharedSlots: true})
	media, err := d.VirtualMedia(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, media, 2)
}

func TestAResourceThatDoesNotSayWhetherAnImageIsInsertedIsNoSlot(t *testing.T) {
	for name, effect := range map[string]bmctest.Effect{
		"nothing":      changeObject("no slot", func(o map[string]any) { delete(o, "Inserted"); delete(o, "Image"); delete(o, "ConnectedVia") }),
		"another type": bmctest.Property("Inserted", "no"),
		"null":         bmctest.Property("Inserted", nil),
	} {
		d, _ := vendorDriver(t, bmctest.Fault{On: slotCD, Do: effect})
		media, err := d.VirtualMedia(t.Context(), "node")
		require.NoError(t, err, name)
		require.Len(t, media, map[bool]int{true: 2, false: 1}[name == "null"], name)
	}
}

func TestAManagerMayBeUnreadableIfTheSystemHasSlots(t *testing.T) {
	for name, test := range map[string]struct {
		effect bmctest.Effect
		want   error
	}{"an error": {bmctest.Status(http.StatusInternalServerError), nil}, "no answer": {bmctest.CloseAfter(0), verify.Protocol}} {
		d, _ := profileDriver(t, ownSlot, bmctest.Fault{On: "/redfish/v1/Managers/bmc", Do: test.effect})
		media, err := d.VirtualMedia(t.Context(), "node")
		require.ErrorIs(t, err, test.want, name)
		require.Len(t, media, 1, name)
	}
}

func TestASystemThatNamesNoManagerIsThoughtToHaveAll(t *testing.T) {
	d, _ := vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Links")})
	media, err := d.VirtualMedia(t.Context(), "node")
	require.NoError(t, err)
	require.Len(t, media, 2)
}

// A Huawei 1288H names its manager in Managers instead of ManagedBy.
func TestASystemMayNameItsManagerInManagers(t *testing.T) {
	const other = "/redfish/v1/Managers/other"
	named := map[string]any{"Managers": []any{map[string]any{"@odata.id": other}}}
	d, _ := vendorDriver(t, bmctest.Fault{On: systemPath, Do: bmctest.Property("Links", named)},
		bmctest.Fault{On: other, Do: bmctest.Body(`{"Id": "other", "FirmwareVersion": "7.1"}`)})
	got, err := d.Firmware(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, bmc.FirmwareComponent{Component: "bmc", Version: "7.1"}, got[1], "not the manager that the service has")
}

func TestADeviceWithoutASlotIsUnsupported(t *testing.T) {
	d, server := vendorDriver(t, bmctest.Fault{On: slotUSB, Do: bmctest.Property("MediaTypes", []string{"USBStick"})})
	err := d.InsertMedia(t.Context(), "node", "floppy", image)
	require.ErrorIs(t, err, verify.Unsupported)
	require.ErrorContains(t, err, "the BMC has no virtual media into which a floppy can be inserted")
	require.Empty(t, server.Media("USB"))
}

// After a request without an answer no other one follows. After the end of the session only the system is read again.
func TestNoOtherSlotIsUsedOnceAnAnswerIsLost(t *testing.T) {
	lost := func(on string) bmctest.Fault {
		return bmctest.Fault{On: on, Method: http.MethodPost, Do: bmctest.CloseAfter(0)}
	}
	ended := func() bmctest.Fault {
		over := false
		return bmctest.Fault{Do: bmctest.Status(http.StatusUnauthorized), If: func(r *http.Request) bool {
			over = over || r.URL.Path == ejectCD
			return over && !strings.Contains(r.URL.Path, "Sessions")
		}}
	}
	insert := func(d *bmc.Driver) error { return d.InsertMedia(t.Context(), "node", "cdrom", image) }
	eject := func(d *bmc.Driver) error { return d.EjectMedia(t.Context(), "node") }
	both := bmctest.Fault{On: slotUSB, Do: bmctest.Property("MediaTypes", []string{"USBStick", "CD"})}
	for name, test := range map[string]struct {
		fault bmctest.Fault
		do    func(*bmc.Driver) error
		want  []int // requests to eject and insert the CD, those to the other slot, and reads of the CD's
	}{
		"an insertion":                  {lost(insertCD), insert, []int{1, 1, 1, 0, 1}},
		"an ejection before insertions": {lost(ejectCD), insert, []int{1, 0, 0, 0, 1}},
		"an ejection":                   {lost(ejectCD), eject, []int{1, 0, 0, 0, 1}},
		"the session, for an insertion": {ended(), insert, []int{1, 0, 0, 0, 2}},
		"the session":                   {ended(), eject, []int{1, 0, 0, 0, 2}},
	} {
		d, server := vendorDriver(t)
		require.NoError(t, insert(d))
		require.NoError(t, d.InsertMedia(t.Context(), "node", "disk", image))
		server.AddFault(both)
		server.AddFault(test.fault)
		counts := func() []int {
			return []int{count(server, "POST", ejectCD), count(server, "POST", insertCD), count(server, "POST", ejectUSB),
				count(server, "POST", slotUSB+"/Actions/VirtualMedia.InsertMedia"), count(server, "GET", slotCD)}
		}
		before := counts()
		require.Error(t, test.do(d), name)
		for i, n := range counts() {
			require.Equal(t, test.want[i], n-before[i], "%s: %d", name, i)
		}
	}
}

// What the BMC may have done decides about the kind, and not which other image it keeps.
func TestARefusedEjectionDoesNotSetTheErrorKind(t *testing.T) {
	const slots, insert, eject = systemPath + "/VirtualMedia/", "/Actions/VirtualMedia.InsertMedia", "/Actions/VirtualMedia.EjectMedia"
	refused := bmctest.Status(http.StatusMethodNotAllowed)
	for name, test := range map[string]struct {
		fault bmctest.Fault
		want  error
	}{
		"a lost insertion":      {bmctest.Fault{On: slots + "1" + insert, Do: bmctest.CloseAfter(0)}, verify.Protocol},
		"a lost ejection":       {bmctest.Fault{On: slots + "2" + eject, Do: bmctest.CloseAfter(0)}, verify.Protocol},
		"a refused insertion":   {bmctest.Fault{On: slots + "1" + insert, Do: bmctest.Status(http.StatusBadRequest)}, verify.Protocol},
		"the session has ended": {bmctest.Fault{On: slots + "1" + insert, Times: 1, Do: bmctest.Status(http.StatusUnauthorized)}, nil},
	} {
		d, server := profileDriver(t, bmctest.Profile{SystemSlots: []bmctest.Slot{
			{ID: "1", MediaTypes: []string{"CD"}}, {ID: "2", MediaTypes: []string{"CD"}},
		}}, test.fault, bmctest.Fault{On: slots + "2" + insert, Do: refused})
		_, err := d.PowerState(t.Context(), "node")
		require.NoError(t, err)
		for _, slot := range []string{slots + "1", slots + "2"} {
			server.AddFault(bmctest.Fault{On: slot, Do: bmctest.Property("Inserted", true)})
			server.AddFault(bmctest.Fault{On: slot + eject, Do: refused})
		}
		err = d.InsertMedia(t.Context(), "node", "cdrom", image)
		if test.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, test.want, name)
		require.ErrorContains(t, err, slots+"1"+eject+": 405 Method Not Allowed", name)
	}
}

// By the kind of the refusal the call would log in again, and eject once more.
func TestALostEjectionAfterARefusedOneHasAKindOfItsOwn(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed} {
		d, server := vendorDriver(t)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		require.NoError(t, d.InsertMedia(t.Context(), "node", "disk", image))
		server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(status)})
		server.AddFault(bmctest.Fault{On: ejectUSB, Do: bmctest.CloseAfter(0)})
		err := d.EjectMedia(t.Context(), "node")
		require.Equal(t, verify.Protocol, verify.KindOf(err), status)
		require.ErrorContains(t, err, http.StatusText(status))
		require.Equal(t, 1, count(server, "POST", ejectUSB), status)
	}
}

// Some slots of a Cisco C845A are for images of the browser alone.
func TestASlotWithAnImageThatIsNotAcceptedIsPassedOver(t *testing.T) {
	for name, fault := range map[string]bmctest.Fault{
		"refused":     {On: insertCD, Do: bmctest.Status(http.StatusBadRequest)},
		"not allowed": {On: insertCD, Do: bmctest.Status(http.StatusMethodNotAllowed)},
		"no action":   {On: slotCD, Method: http.MethodGet, Do: bmctest.WithoutProperty("Actions")},
	} {
		d, server := vendorDriver(t, bmctest.Fault{On: slotUSB, Do: bmctest.Property("MediaTypes", []string{"CD"})},
			bmctest.Fault{On: slotCD, Method: http.MethodPatch, Do: bmctest.Status(http.StatusMethodNotAllowed)}, fault)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image), name)
		require.Equal(t, image, server.Media("USB"), name)
		require.Empty(t, server.Media("CD"), name)
	}
}

func TestARefusedEjectionIsAnErrorUnlessTheSlotIsEmptyThen(t *testing.T) {
	for name, test := range map[string]struct {
		then bmctest.Effect // the effect on the second read
		ok   bool
	}{
		"empty":          {bmctest.Property("Inserted", false), true},
		"full":           {bmctest.Property("Inserted", true), false},
		"unknown":        {bmctest.Property("Inserted", "no"), false},
		"cannot be read": {bmctest.Status(http.StatusInternalServerError), false},
	} {
		d, server := vendorDriver(t)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		server.AddFault(bmctest.Fault{On: slotCD, Skip: 1, Do: test.then})
		server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusConflict)})
		err := d.EjectMedia(t.Context(), "node", "cdrom")
		require.Equal(t, test.ok, err == nil, "%s: %v", name, err)
	}

	d, server := vendorDriver(t)
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	reads := count(server, "GET", slotCD)
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
	require.Equal(t, 1, count(server, "GET", slotCD)-reads, "what was accepted is not checked")
}

// A clean-up passes over an image that the BMC keeps, and over nothing else.
func TestOnlyARefusalOfTheEjectionItselfSaysThatTheImageIsKept(t *testing.T) {
	const managerSlots = "/redfish/v1/Managers/bmc/VirtualMedia"
	refused := bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusInternalServerError)}
	malformed := bmctest.Change("malformed", func(http.Header, []byte) []byte { return []byte("[]") })
	noAction := bmctest.Fault{On: slotCD, Do: bmctest.Property("Actions", map[string]any{"#VirtualMedia.EjectMedia": map[string]any{}})}
	for name, test := range map[string]struct {
		faults []bmctest.Fault
		want   error // nil for ErrKept
	}{
		"500":                 {[]bmctest.Fault{refused}, nil},
		"404":                 {[]bmctest.Fault{{On: ejectCD, Do: bmctest.Status(http.StatusNotFound)}}, nil},
		"no usable action":    {[]bmctest.Fault{noAction}, nil},
		"503":                 {[]bmctest.Fault{{On: ejectCD, Do: bmctest.Status(http.StatusServiceUnavailable)}}, verify.Unreachable},
		"403":                 {[]bmctest.Fault{{On: ejectCD, Do: bmctest.Status(http.StatusForbidden)}}, verify.Forbidden},
		"the log-in":          {[]bmctest.Fault{{On: sessionsPath, Do: bmctest.Status(http.StatusInternalServerError)}}, verify.Protocol},
		"the list of slots":   {[]bmctest.Fault{{On: managerSlots, Do: bmctest.Status(http.StatusInternalServerError)}}, verify.Protocol},
		"a slot":              {[]bmctest.Fault{refused, {On: slotUSB, Do: bmctest.Status(http.StatusInternalServerError)}}, verify.Protocol},
		"a malformed slot":    {[]bmctest.Fault{refused, {On: slotUSB, Do: malformed}}, verify.Protocol},
		"no answer":           {[]bmctest.Fault{{On: ejectCD, Do: bmctest.CloseAfter(0)}}, verify.Protocol},
		"no answer after one": {[]bmctest.Fault{refused, {On: slotCD, Skip: 1, Do: bmctest.CloseAfter(0)}}, verify.Protocol},
	} {
		d, server := vendorDriver(t)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
		if name == "the log-in" {
			d = newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
		}
		for _, fault := range test.faults {
			server.AddFault(fault)
		}
		err := d.EjectMedia(t.Context(), "node", "cdrom")
		if test.want == nil {
			require.ErrorIs(t, err, bmc.ErrKept, name)
		} else {
			require.ErrorIs(t, err, test.want, name)
			require.NotErrorIs(t, err, bmc.ErrKept, name)
		}
	}
}

// A clean-up finds nothing to eject, as in Ironic.
func TestABMCWithoutSlotsHasNothingToEject(t *testing.T) {
	for name, fault := range map[string]bmctest.Fault{
		"no slots":   {On: "/redfish/v1/Managers/bmc/VirtualMedia", Do: bmctest.Property("Members", []any{})},
		"no link":    {On: "/redfish/v1/Managers/bmc", Do: bmctest.WithoutProperty("VirtualMedia")},
		"no manager": {On: "/redfish/v1/Managers", Do: bmctest.Property("Members", []any{})},
	} {
		d, server := vendorDriver(t, fault)
		if name == "no manager" {
			server.AddFault(bmctest.Fault{On: systemPath, Do: bmctest.WithoutProperty("Links")})
		}
		require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"), name)
		require.NoError(t, d.EjectMedia(t.Context(), "node"), name)
		_, err := d.VirtualMedia(t.Context(), "node")
		require.ErrorIs(t, err, verify.Unsupported, name)
		require.ErrorIs(t, d.InsertMedia(t.Context(), "node", "cdrom", image), verify.Unsupported, name)
	}
}

func TestASlotIsChangedUnlessTheBMCSaysThatItCannotBe(t *testing.T) {
	for allowed, want := range map[string]bool{"": true, "GET, PATCH": true, "GET, HEAD": false} {
		d, server := profileDriver(t, bmctest.Profile{PatchedSlots: true},
			bmctest.Fault{On: slotCD, Method: http.MethodGet, Do: setHeader("Allow", allowed)})
		err := d.InsertMedia(t.Context(), "node", "cdrom", image)
		require.Equal(t, want, err == nil, "%s: %v", allowed, err)
		require.Equal(t, want, server.Media("CD") == image)
	}
}

func TestNoOtherBootOverrideIsTriedAfterAFailureOfTheConnectionOrTheLogIn(t *testing.T) {
	for name, effect := range map[string]bmctest.Effect{
		"no answer": bmctest.CloseAfter(0), "a refused log-in": bmctest.Status(http.StatusUnauthorized),
	} {
		d, server := vendorDriver(t, bmctest.Fault{On: systemPath, Method: http.MethodPatch, Do: effect})
		_, err := d.KeepBootDevice(t.Context(), "node", "pxe")
		require.Error(t, err, name)
		require.Equal(t, 1, patches(server), name)
	}
}

func TestARefusedResetIsAnErrorUnlessTheMachineIsInTheState(t *testing.T) {
	for _, test := range []struct {
		status int
		then   bmctest.Effect // the effect on the read after it
		ok     bool
	}{
		{400, bmctest.Property("PowerState", "Off"), true},
		{409, bmctest.Property("PowerState", "Off"), true},
		{500, bmctest.Property("PowerState", "Off"), true},
		{409, bmctest.Property("PowerState", "On"), false},
		{409, bmctest.Property("PowerState", ""), false},
		{409, bmctest.Status(http.StatusInternalServerError), false},
	} {
		d, server := vendorDriver(t)
		server.AddFault(bmctest.Fault{On: systemPath, Skip: 1, Do: test.then})
		server.AddFault(bmctest.Fault{On: resetPath, Do: bmctest.Status(test.status)})
		err := d.SetPower(t.Context(), "node", states.PowerOff)
		require.Equal(t, test.ok, err == nil, "%+v: %v", test, err)
		require.Equal(t, 1, count(server, "POST", resetPath))
	}
}
