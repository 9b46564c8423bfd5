// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestASlotWithoutInsertedIsKnownByItsImageOrConnection(t *testing.T) {
	for _, others := range [][]string{nil, {"ConnectedVia"}, {"Image", "ImageName"}} {
		d, server := vendorDriver(t, bmctest.Fault{Method: http.MethodGet, Do: bmctest.WithoutProperty(append(others, "Inserted")...)})
		media := func() []bmc.VirtualMedia {
			media, err := d.VirtualMedia(t.Context(), "node")
			require.NoError(t, err, others)
			require.Len(t, media, 2, others)
			return media
		}
		require.False(t, media()[0].Inserted, others)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image), others)
		require.True(t, media()[0].Has(image), others)
		require.False(t, media()[1].Inserted, others)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image+"?2"), "the first is ejected")
		require.Equal(t, image+"?2", server.Media("CD"), others)
		require.NoError(t, d.EjectMedia(t.Context(), "node"), others)
		require.Empty(t, server.Media(""), others)
		require.False(t, media()[0].Inserted, others)
	}
}

func TestAnInsertedThatIsNullTellsNothing(t *testing.T) {
	for _, test := range []struct {
		image, via any
		want       bool
	}{
		{nil, nil, false}, {"", "NotConnected", false}, {"None", nil, false}, {7, 7, false},
		{image, nil, true}, {nil, "URI", true}, {image, "NotConnected", false}, {nil, "Oem", true}, {image, 7, true},
	} {
		d, _ := vendorDriver(t, bmctest.Fault{On: slotCD, Do: changeObject("null", func(o map[string]any) {
			o["Inserted"], o["Image"], o["ConnectedVia"] = nil, test.image, test.via
		})})
		media, err := d.VirtualMedia(t.Context(), "node")
		require.NoError(t, err)
		require.Equal(t, test.want, media[0].Inserted, "%+v", test)
	}
}

func TestARefusedEjectOfASlotWithoutInsertedIsNoneIfItIsEmpty(t *testing.T) {
	d, server := vendorDriver(t)
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	server.AddFault(bmctest.Fault{Method: http.MethodGet, Do: bmctest.WithoutProperty("Inserted")})
	server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusInternalServerError)})
	require.ErrorIs(t, d.EjectMedia(t.Context(), "node", "cdrom"), verify.Protocol, "the image is still there")
	require.NoError(t, server.ClearFaults())
	server.AddFault(bmctest.Fault{On: slotCD, Skip: 1, Do: changeObject("empty", func(o map[string]any) {
		delete(o, "Inserted")
		o["Image"], o["ConnectedVia"] = nil, "NotConnected"
	})})
	server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusInternalServerError)})
	require.NoError(t, d.EjectMedia(t.Context(), "node", "cdrom"))
}

// A BMC names the parameters that it demands, one after the other or all at once, and in several ways.
func TestInsertMediaHasTheParametersThatTheBMCDemands(t *testing.T) {
	for name, test := range map[string]struct {
		image    string
		demands  []string
		one, all string // the body of the last request begins with one and has all
	}{
		"protocol":         {image, []string{"TransferProtocolType"}, "", `"TransferProtocolType":"HTTPS"`},
		"protocol of http": {"http://h/a.iso", []string{"TransferProtocolType"}, "", `"TransferProtocolType":"HTTP"`},
		"protocol and method": {image, []string{"TransferProtocolType", "TransferMethod"},
			`"TransferMethod":"Stream"`, `"TransferProtocolType":"HTTPS"`},
		"user and password":              {image, []string{"UserName", "Password"}, `"UserName":`, `"Password":`},
		"user in words":                  {image, []string{"Password"}, `"UserName":`, `"Password":`},
		"protocol in related properties": {image, []string{"TransferProtocolType"}, "", `"TransferProtocolType":"HTTPS"`},
		"user without an error":          {image, []string{"UserName"}, `"UserName":`, `"Password":`},
		"user in plain text":             {image, []string{"UserName"}, `"UserName":`, `"Password":`},
		"password alone":                 {image, []string{"Password"}, `"UserName":`, `"Password":`},
		"all": {image, []string{"Password", "TransferMethod", "UserName", "TransferProtocolType"},
			`"TransferMethod":"Stream"`, `"TransferProtocolType":"HTTPS"`},
	} {
		var seen refusing
		d, _ := vendorDriver(t, bmctest.Fault{On: insertCD, Do: seen.effect(func(_ *http.Request, body string) (int, string) {
			for _, demand := range test.demands {
				if !strings.Contains(body, `"`+demand+`":`) {
					switch name {
					case "user in words":
						return http.StatusBadRequest, "parameter missing"
					case "protocol in related properties":
						return http.StatusBadRequest, `{"error": {"code": "Base.1.12.ActionParameterMissing",
							"@Message.ExtendedInfo": [{"RelatedProperties": ["#/TransferProtocolType"]}]}}`
					case "user without an error":
						return http.StatusBadRequest, `{"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.ActionParameterMissing",
							"MessageArgs": ["VirtualMedia.InsertMedia", "UserName"]}]}`
					case "user in plain text":
						return http.StatusBadRequest, "<html>UserName is needed</html>"
					}
					return http.StatusBadRequest, "The action requires the parameter " + demand + " to be present in the request body."
				}
			}
			return 0, ""
		})})
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", test.image), name)
		last := seen.bodies[len(seen.bodies)-1]
		require.Contains(t, last, test.one, name)
		require.Contains(t, last, test.all, name)
		require.LessOrEqual(t, len(seen.bodies), 4, name)
		require.Equal(t, fmt.Sprintf(`{"Image":%q}`, test.image), seen.bodies[0], "nothing is sent unasked")
	}
}

// An insert within seconds of an eject fails in the BMC.
func TestAnInsertIsRepeatedWhileTheBMCStillEjects(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable} {
		for times, ok := range map[int]bool{1: true, 2: true, 3: false} {
			d, server := vendorDriver(t, bmctest.Fault{On: insertCD, Times: times, Do: bmctest.Status(status)})
			err := d.InsertMedia(t.Context(), "node", "cdrom", image)
			require.Equal(t, ok, err == nil, "%d %d: %v", status, times, err)
			require.Equal(t, min(times+1, 3), count(server, "POST", insertCD))
		}
	}
}

func TestARepetitionIsSeenInTheLog(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: insertCD, Times: 2, Do: bmctest.Handle("busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error": {"message": "still ejecting for %s"}}`, password)
	})})
	var log bytes.Buffer
	config := configOf(server)
	config.Log = slog.New(slog.NewTextHandler(&log, nil)).With("node", "7")
	d := newDriver(t, 1, map[string]bmc.Config{"node": config})
	require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 2)
	for i, line := range lines {
		require.Contains(t, line, fmt.Sprintf(`node=7 operation="insert virtual media" protocol=redfish host=%s attempt=%d `, server.Addr, i+1))
		require.Contains(t, line, "still ejecting for ***")
	}
}

func TestARefusedEjectIsAFailureIfTheSlotCannotBeReadAfterIt(t *testing.T) {
	for name, effect := range map[string]bmctest.Effect{
		"no slot":   changeObject("no slot", func(o map[string]any) { clear(o) }),
		"no answer": bmctest.Status(http.StatusInternalServerError),
	} {
		d, server := vendorDriver(t)
		require.NoError(t, d.InsertMedia(t.Context(), "node", "cdrom", image), name)
		server.AddFault(bmctest.Fault{On: slotCD, Method: http.MethodGet, Skip: 1, Do: effect})
		server.AddFault(bmctest.Fault{On: ejectCD, Do: bmctest.Status(http.StatusInternalServerError)})
		require.ErrorIs(t, d.EjectMedia(t.Context(), "node", "cdrom"), verify.Protocol, name)
	}
}
