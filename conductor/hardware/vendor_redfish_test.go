// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/conductor/hardware"
)

// The errors of status 400 have the texts of Ironic 21.4.4, but for EventTypes and HttpHeaders, which repeat the values
// there.
func TestSubscriptionsToEventsThroughTheAPI(t *testing.T) {
	server := startRedfish(t)
	s := start(t, hardware.Config{})
	n := s.node(redfishMachine(server, t), func(*conductor.Node) {})
	web := httptest.NewServer(api.New(s.Conductor, api.Config{}))
	defer web.Close()
	for _, c := range []struct {
		request, body string
		status        int
		answer        string
	}{
		{"POST create_subscription", `{"Destination": "https://events.example/x", "HttpHeaders": [{"Authorization": "Bearer 0123456789"}]}`, 200,
			`{"Id":"1","Destination":"https://events.example/x","Protocol":"Redfish","Context":"","EventTypes":["Alert"]}`},
		{"GET get_subscription", `{"id": "1"}`, 200,
			`{"Id":"1","Destination":"https://events.example/x","Protocol":"Redfish","Context":"","EventTypes":["Alert"]}`},
		{"GET get_all_subscriptions", "", 200, `{"Members":[{"Id":"1"}],"Members@odata.count":1}`},
		{"DELETE delete_subscription", `{"id": "2"}`, 404, "the BMC has no such subscription"},
		{"GET get_subscription", `{"id": "2"}`, 404, "the BMC has no such subscription"},
		{"DELETE delete_subscription", `{}`, 400, "id can't be None"},
		{"GET get_subscription", `{}`, 400, "id can't be None"},
		{"POST delete_subscription", `{"id": "1"}`, 400, "does not support HTTP POST"},
		{"POST create_subscription", `{}`, 400, "Destination None is not a valid URI"},
		{"POST create_subscription", `{"Destination": "events.example"}`, 400, "Destination events.example is not a valid URI"},
		{"POST create_subscription", `{"Destination": "https://e.example", "EventTypes": "Alert"}`, 400,
			"EventTypes 'Alert' is not a valid value"},
		{"POST create_subscription", `{"Destination": "https://e.example", "EventTypes": ["Party"]}`, 400, "no events of the type"},
		{"POST create_subscription", `{"Destination": "https://e.example", "Context": 1}`, 400, "Context 1 is not a valid string"},
		{"POST create_subscription", `{"Destination": "https://e.example", "Protocol": null}`, 400, "Protocol None is not a string"},
		{"POST create_subscription", `{"Destination": "https://e.example", "HttpHeaders": "x-secret: 1"}`, 400,
			"HttpHeaders is not a list of headers"},
		{"POST create_subscription", `{"Destination": "https://e.example", "HttpHeaders": [{"a": 1}]}`, 400,
			"HttpHeaders is not a list of headers"},
		{"POST no_method", `{}`, 400, "No handler for method no_method"},
		{"DELETE delete_subscription", `{"id": "1"}`, 200, "null"},
	} {
		method, name, _ := strings.Cut(c.request, " ")
		request, err := http.NewRequestWithContext(t.Context(), method,
			fmt.Sprintf("%s/v1/nodes/%s/vendor_passthru?method=%s", web.URL, n.UUID, name), strings.NewReader(c.body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		answer, err := web.Client().Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.status, answer.StatusCode, "%s %s: %s", c.request, c.body, text)
		if c.status == http.StatusOK {
			require.JSONEq(t, c.answer, string(text), c.request)
		} else {
			require.Contains(t, string(text), c.answer, c.request)
		}
	}
	require.Empty(t, server.Subscriptions())
}

func TestIPMIHasNoVendorMethods(t *testing.T) {
	ipmi := startIPMI(t)
	s := start(t, hardware.Config{})
	n := s.node(testMachine{driver: "ipmi", info: ipmiInfo(ipmi)})
	methods, err := s.VendorMethods(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Empty(t, methods)
	_, err = s.CallVendor(t.Context(), n.UUID, "create_subscription", nil)
	require.ErrorIs(t, err, conductor.Unsupported)
}
