// SPDX-License-Identifier: Apache-2.0

package bmctest_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/bmc/internal/schemas"
)

const (
	cd     = "/redfish/v1/Managers/bmc/VirtualMedia/CD"
	usb    = "/redfish/v1/Managers/bmc/VirtualMedia/USB"
	insert = cd + "/Actions/VirtualMedia.InsertMedia"
	eject  = cd + "/Actions/VirtualMedia.EjectMedia"
	iso    = "https://images.invalid/boot/agent.iso"
)

func TestMediaAreInsertedAndEjected(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	slots := membersOf(t, bmc, read(t, bmc, "/redfish/v1/Managers/bmc/VirtualMedia")["Members"])
	require.Len(t, slots, 2)
	require.Equal(t, []any{"CD", "DVD"}, slots[0]["MediaTypes"])
	require.Equal(t, []any{"USBStick", "Floppy"}, slots[1]["MediaTypes"])
	for _, s := range slots {
		require.Equal(t, false, s["Inserted"])
		require.Nil(t, s["Image"])
		require.Equal(t, "NotConnected", s["ConnectedVia"])
	}

	require.Equal(t, 204, ask(t, bmc, post, insert, `{"Image":"`+iso+`"}`).StatusCode)
	require.Equal(t, iso, bmc.Media("CD"))
	require.Empty(t, bmc.Media("USB"))
	inserted := read(t, bmc, cd)
	require.Equal(t, iso, inserted["Image"])
	require.Equal(t, "agent.iso", inserted["ImageName"])
	require.Equal(t, "URI", inserted["ConnectedVia"])
	require.Equal(t, true, inserted["Inserted"])
	require.Equal(t, true, inserted["WriteProtected"])

	again := ask(t, bmc, post, insert, `{"Image":"https://images.invalid/other.iso"}`)
	require.Equal(t, http.StatusConflict, again.StatusCode)
	require.Equal(t, "ResourceInUse", again.messageID(t))
	require.Equal(t, iso, bmc.Media("CD"))

	require.Equal(t, 204, ask(t, bmc, post, eject, `{}`).StatusCode)
	require.Empty(t, bmc.Media("CD"))
	require.Nil(t, read(t, bmc, cd)["Image"])
	require.Equal(t, 204, ask(t, bmc, post, eject, ``).StatusCode, "of an empty slot, and without a body")
}

func TestMediaArePatched(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	const image = `{"Image":"` + iso + `","WriteProtected":false}`
	require.Equal(t, 200, ask(t, bmc, patch, usb, image).StatusCode)
	require.Equal(t, iso, bmc.Media("USB"))
	require.Equal(t, false, read(t, bmc, usb)["WriteProtected"])
	require.Equal(t, 200, ask(t, bmc, patch, usb, `{"Inserted":false}`).StatusCode)
	require.Empty(t, bmc.Media("USB"))
	require.Equal(t, 200, ask(t, bmc, patch, usb, `{"Inserted":true}`).StatusCode)
	require.Equal(t, iso, bmc.Media("USB"))
	require.Equal(t, 200, ask(t, bmc, patch, usb, `{"Image":null,"Inserted":false}`).StatusCode)
	require.Empty(t, bmc.Media("USB"))
}

func TestMediaThatAreRefused(t *testing.T) {
	tests := []struct {
		name, method, path, body, messageID string
	}{
		{"nothing", post, insert, `{}`, "ActionParameterMissing"},
		{"null", post, insert, `{"Image":null}`, "ActionParameterValueTypeError"},
		{"a number", post, insert, `{"Image":1}`, "ActionParameterValueTypeError"},
		{"a path", post, insert, `{"Image":"/agent.iso"}`, "ActionParameterValueFormatError"},
		{"an empty URL", post, insert, `{"Image":""}`, "ActionParameterValueFormatError"},
		{"a scheme that no BMC has", post, insert, `{"Image":"gopher://h/agent.iso"}`, "ActionParameterValueFormatError"},
		{"a word for a flag", post, insert, `{"Image":"` + iso + `","Inserted":"true"}`, "ActionParameterValueTypeError"},
		{"a protocol that no BMC has", post, insert, `{"Image":"` + iso + `","TransferProtocolType":"Gopher"}`, "ActionParameterValueNotInList"},
		{"what is no parameter", post, insert, `{"Image":"` + iso + `","Color":"red"}`, "ActionParameterUnknown"},
		{"no JSON", post, insert, `{`, "MalformedJSON"},
		{"what is no property", patch, cd, `{"Color":"red"}`, "PropertyUnknown"},
		{"a path as property", patch, cd, `{"Image":"agent.iso"}`, "PropertyValueFormatError"},
		{"a flag of null", patch, cd, `{"Inserted":null}`, "PropertyValueTypeError"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bmc := newRedfish(t, bmctest.RedfishConfig{})
			r := ask(t, bmc, tt.method, tt.path, tt.body)
			require.Equal(t, 400, r.StatusCode, "body: %s", r.body)
			require.Equal(t, tt.messageID, r.messageID(t))
			require.Empty(t, bmc.Media("CD"))
		})
	}
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	require.Equal(t, 404, ask(t, bmc, post, cd+"/Actions/VirtualMedia.Melt", `{}`).StatusCode)
	require.Equal(t, 404, ask(t, bmc, get, "/redfish/v1/Managers/bmc/VirtualMedia/Tape", "").StatusCode)
	require.Empty(t, bmc.Media("Tape"))
}

// A BMC whose slots have no actions shows none, refuses them, and takes PATCH.
func TestASlotMayLackItsActions(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	bmc.AddFault(bmctest.Fault{On: cd, Method: get, Do: bmctest.WithoutProperty("Actions")})
	bmc.AddFault(bmctest.Fault{On: eject, Do: bmctest.Status(http.StatusNotFound)})
	require.NotContains(t, read(t, bmc, cd), "Actions")
	require.Equal(t, 200, ask(t, bmc, patch, cd, `{"Image":"`+iso+`"}`).StatusCode)
	require.Equal(t, 404, ask(t, bmc, post, eject, `{}`).StatusCode)
	require.Equal(t, iso, bmc.Media("CD"))
}

func TestGofishInsertsMedia(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	managers, err := gofishClient(t, bmc).Service.Managers()
	require.NoError(t, err)
	media, err := managers[0].VirtualMedia()
	require.NoError(t, err)
	require.Len(t, media, 2)
	slot := media[slices.IndexFunc(media, func(m *schemas.VirtualMedia) bool { return m.ID == "CD" })]
	require.True(t, slot.SupportsMediaInsert)
	require.NoError(t, slot.InsertMediaConfig(schemas.VirtualMediaConfig{
		Image: "//share/agent.iso", Inserted: true, TransferProtocolType: "CIFS", UserName: "u", Password: "p",
	}))
	require.Equal(t, "//share/agent.iso", bmc.Media("CD"))
	require.NoError(t, slot.EjectMedia())
	require.Empty(t, bmc.Media("CD"))
}

func TestBmclibInsertsMedia(t *testing.T) {
	bmc := newRedfish(t, bmctest.RedfishConfig{})
	ctx := t.Context()
	client := dial(bmc, bmctest.DefaultPassword)
	require.NoError(t, client.Open(ctx))
	for _, image := range []string{iso, "https://images.invalid/next.iso", ""} {
		ok, err := client.SetVirtualMedia(ctx, "CD", image)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, image, bmc.Media("CD"))
	}
	require.NoError(t, client.Close(ctx))
}

func TestOnMediaTellsEachImageOnce(t *testing.T) {
	for _, profile := range []bmctest.Profile{{}, bmctest.DMTF()} {
		var told []string
		bmc := newRedfish(t, bmctest.RedfishConfig{Profile: profile, OnMedia: func(slot, image string) { told = append(told, slot+" "+image) }})
		if profile.PatchedSlots {
			const slot = "/redfish/v1/Systems/437XR1138R2/VirtualMedia/CD1"
			require.Equal(t, 200, ask(t, bmc, patch, slot, `{"Image":"`+iso+`","Inserted":true}`).StatusCode)
			require.Equal(t, 200, ask(t, bmc, patch, slot, `{"WriteProtected":false}`).StatusCode)
			require.Equal(t, 200, ask(t, bmc, patch, slot, `{"Image":null,"Inserted":false}`).StatusCode)
			require.Equal(t, []string{"CD1 " + iso, "CD1 "}, told)
			continue
		}
		require.Equal(t, 204, ask(t, bmc, post, eject, `{}`).StatusCode, "of an empty slot")
		require.Equal(t, 204, ask(t, bmc, post, insert, `{"Image":"`+iso+`"}`).StatusCode)
		require.Equal(t, 409, ask(t, bmc, post, insert, `{"Image":"`+iso+`"}`).StatusCode)
		require.Equal(t, 204, ask(t, bmc, post, eject, `{}`).StatusCode)
		require.Equal(t, []string{"CD " + iso, "CD "}, told)
	}
}
