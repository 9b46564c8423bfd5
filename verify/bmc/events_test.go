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

func TestSubscriptionsToEvents(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	ids, err := d.Subscriptions(t.Context(), "node")
	require.NoError(t, err)
	require.Empty(t, ids)

	want := bmc.Subscription{ID: "mine", Destination: "https://events.example/x", Protocol: "Redfish", Context: "rack 1",
		EventTypes: []string{"Alert"}, Headers: []map[string]string{{"Authorization": "Bearer 0123456789"}}}
	made, err := d.Subscribe(t.Context(), "node", want)
	require.NoError(t, err)
	require.Equal(t, []map[string]any{{
		"Destination": "https://events.example/x", "Protocol": "Redfish", "Context": "rack 1", "EventTypes": []string{"Alert"},
		"HttpHeaders": []any{map[string]any{"Authorization": "Bearer 0123456789"}},
	}}, server.Subscriptions())
	want.ID, want.Headers = "1", nil
	require.Equal(t, want, made)
	found, err := d.Subscription(t.Context(), "node", "1")
	require.NoError(t, err)
	require.Equal(t, want, found)

	_, err = d.Subscribe(t.Context(), "node",
		bmc.Subscription{Destination: "https://events.example/x", Protocol: "Redfish", EventTypes: []string{"Party"}})
	require.ErrorIs(t, err, verify.Misconfigured)
	require.ErrorContains(t, err, `no events of the type "Party"`)
	for _, unknown := range []string{"2", "", "../Sessions/1", "1/", "Subscriptions"} {
		_, err = d.Subscription(t.Context(), "node", unknown)
		require.ErrorIs(t, err, bmc.ErrNoSubscription, unknown)
		require.ErrorIs(t, d.Unsubscribe(t.Context(), "node", unknown), bmc.ErrNoSubscription, unknown)
	}
	ids, err = d.Subscriptions(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, ids)
	require.NoError(t, d.Unsubscribe(t.Context(), "node", "1"))
	require.Empty(t, server.Subscriptions())
}

func TestAMemberThatIsElsewhereIsNoSubscription(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
	require.NoError(t, err)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/EventService/Subscriptions", Method: "GET", Do: bmctest.Property("Members", []any{
		map[string]any{"@odata.id": "/redfish/v1/EventService/Subscriptions/1"}, map[string]any{"@odata.id": "/redfish/v1/Systems/2"},
		map[string]any{"@odata.id": "/redfish/v1/EventService/SubscriptionsOfOthers/3"},
	})})
	ids, err := d.Subscriptions(t.Context(), "node")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, ids)
	for _, id := range []string{"2", "3"} {
		require.ErrorIs(t, d.Unsubscribe(t.Context(), "node", id), bmc.ErrNoSubscription)
	}
	require.NoError(t, d.Unsubscribe(t.Context(), "node", "1"))
	require.Empty(t, server.Subscriptions())
}

func TestSubscriptionThatTheBMCShowsInItsAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		location string
		want     error
	}{
		"no location":                    {"", nil},
		"a host that only the BMC knows": {"https://bmc.invalid/redfish/v1/EventService/Subscriptions/1", nil},
		"the collection with a slash":    {"/redfish/v1/EventService/Subscriptions/", nil},
		"an escaped path":                {"/redfish/v1/%2e%2e/x", nil},
		"another resource":               {"/redfish/v1/Systems/1", nil},
		"another resource, no body":      {"/redfish/v1/Systems/1", verify.Protocol},
		"a subscription that is absent":  {"/redfish/v1/EventService/Subscriptions/2", bmc.ErrNoSubscription},
		"no URL":                         {":%zz", nil},
		"a query alone":                  {"?x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
			server.AddFault(bmctest.Fault{On: "/redfish/v1/EventService/Subscriptions", Method: "POST",
				Do: bmctest.Change("location", func(h http.Header, body []byte) []byte {
					h.Del("Location")
					if c.location != "" {
						h.Set("Location", c.location)
					}
					if strings.HasSuffix(name, "no body") {
						return nil
					}
					return body
				})})
			made, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, "1", made.ID)
				require.Equal(t, "https://events.example", made.Destination)
			}
		})
	}
}

// A BMC that has made a subscription may fail to show it. A second one would send each event twice, and one whose ID
// is unknown has no end.
func TestASubscriptionIsMadeOnceAndKnown(t *testing.T) {
	const made = "/redfish/v1/EventService/Subscriptions/1"
	for name, fault := range map[string]bmctest.Fault{
		"the BMC refuses one read as one of too many": {On: made, Method: "GET", Times: 1, Do: bmctest.Status(http.StatusTooManyRequests)},
		"it refuses all reads so":                     {On: made, Method: "GET", Do: bmctest.Status(http.StatusTooManyRequests)},
		"it is not available":                         {On: made, Method: "GET", Do: bmctest.Status(http.StatusServiceUnavailable)},
		"it fails":                                    {On: made, Method: "GET", Do: bmctest.Status(http.StatusInternalServerError)},
		"it ends the session before the read":         {On: made, Method: "GET", Times: 1, Do: bmctest.Status(http.StatusUnauthorized)},
		"it has no method to show it":                 {On: made, Method: "GET", Do: bmctest.Status(http.StatusMethodNotAllowed)},
		"it does not implement this":                  {On: made, Method: "GET", Do: bmctest.Status(http.StatusNotImplemented)},
		"it refuses the credentials":                  {On: made, Method: "GET", Do: bmctest.Status(http.StatusUnauthorized)},
		"it refuses connections":                      {On: made, Method: "GET", Do: bmctest.Refuse()},
		"it shows something else":                     {On: made, Method: "GET", Do: bmctest.WithoutProperty("Id")},
		"its answer to the request is no JSON": {On: "/redfish/v1/EventService/Subscriptions", Method: "POST",
			Do: bmctest.Change("text", func(h http.Header, _ []byte) []byte {
				h.Set("Content-Type", "text/html")
				return []byte("created")
			})},
	} {
		for _, sessions := range []int{0, 1} {
			server := startRedfish(t)
			server.AddFault(fault)
			d := newDriver(t, sessions, map[string]bmc.Config{"node": configOf(server)})
			_, err := d.PowerState(t.Context(), "node")
			require.NoError(t, err)
			wanted := bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish", Context: "rack 1",
				EventTypes: []string{"Alert"}, Headers: []map[string]string{{"Authorization": "Bearer 0123456789"}}}
			got, err := d.Subscribe(t.Context(), "node", wanted)
			require.NoError(t, err, name)
			wanted.ID, wanted.Headers = "1", nil
			require.Equal(t, wanted, got, name)
			require.Equal(t, 1, count(server, http.MethodPost, "/redfish/v1/EventService/Subscriptions"), name)
			require.NoError(t, server.ClearFaults())
			require.NoError(t, d.Unsubscribe(t.Context(), "node", got.ID), name)
			require.Empty(t, server.Subscriptions(), name)
		}
	}
}

// A request to end a subscription is sent again over a new connection if the BMC has closed the open one without an
// answer: the first one may have been carried out.
func TestASubscriptionThatIsGoneIsEnded(t *testing.T) {
	server := startRedfish(t)
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	made, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
	require.NoError(t, err)
	const path = "/redfish/v1/EventService/Subscriptions/1"
	server.AddFault(bmctest.Fault{On: path, Method: "DELETE", Times: 1, Do: bmctest.ResetAfter(0)})
	require.NoError(t, d.Unsubscribe(t.Context(), "node", made.ID))
	require.Equal(t, 2, count(server, http.MethodDelete, path))
	require.Empty(t, server.Subscriptions())
}

func TestASubscriptionThatIsNotMadeIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		do   bmctest.Effect
		want error
	}{
		"no answer":  {bmctest.ResetAfter(0), verify.Protocol},
		"a refusal":  {bmctest.Status(http.StatusBadRequest), verify.Protocol},
		"busy":       {bmctest.Status(http.StatusServiceUnavailable), verify.Unreachable},
		"no session": {bmctest.Status(http.StatusUnauthorized), verify.Credentials},
	} {
		server := startRedfish(t)
		server.AddFault(bmctest.Fault{On: "/redfish/v1/EventService/Subscriptions", Method: "POST", Do: test.do})
		d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
		got, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
		require.ErrorIs(t, err, test.want, name)
		require.Empty(t, got, name)
		require.Equal(t, 1, count(server, http.MethodPost, "/redfish/v1/EventService/Subscriptions"), name)
	}
}

func TestBMCWithoutEvents(t *testing.T) {
	for name, fault := range map[string]bmctest.Fault{
		"no service":       {On: "/redfish/v1/", Do: bmctest.WithoutProperty("EventService")},
		"no subscriptions": {On: "/redfish/v1/EventService", Do: bmctest.WithoutProperty("Subscriptions")},
	} {
		t.Run(name, func(t *testing.T) {
			server := startRedfish(t)
			server.AddFault(fault)
			d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
			_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{})
			require.ErrorIs(t, err, verify.Unsupported)
			_, err = d.Subscriptions(t.Context(), "node")
			require.ErrorIs(t, err, verify.Unsupported)
		})
	}
}

func TestEventsOfABMCThatNamesNoTypes(t *testing.T) {
	d, _ := vendorDriver(t, bmctest.Fault{On: "/redfish/v1/EventService", Do: bmctest.Property("EventTypesForSubscription", []string{})})
	wanted := bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish", EventTypes: []string{"Alert"}}
	made, err := d.Subscribe(t.Context(), "node", wanted)
	require.NoError(t, err)
	require.Equal(t, []string{"Alert"}, made.EventTypes)
}

func TestABMCWhoseSubscriptionsHaveNoTypesSendsAllEvents(t *testing.T) {
	const collection = "/redfish/v1/EventService/Subscriptions"
	wanted := bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish", EventTypes: []string{"Alert"}}
	for message, ok := range map[string]bool{
		"Base.1.13.0.PropertyUnknown: EventTypes": true, "Base.1.13.0.PropertyUnknown: Context": false,
		"Base.1.13.0.PropertyValueNotInList: EventTypes": false,
	} {
		var seen refusing
		d, _ := vendorDriver(t, bmctest.Fault{On: collection, Method: http.MethodPost, Times: 1,
			Do: seen.effect(func(*http.Request, string) (int, string) { return http.StatusBadRequest, message })})
		made, err := d.Subscribe(t.Context(), "node", wanted)
		require.Equal(t, ok, err == nil, "%s: %v", message, err)
		require.Equal(t, ok, made.ID != "", message)
		require.Empty(t, made.EventTypes, message)
		require.Len(t, seen.bodies, 1, message)
	}
}

func TestSubscriptionsThatCannotBeRead(t *testing.T) {
	const service, collection = "/redfish/v1/EventService", "/redfish/v1/EventService/Subscriptions"
	link := func(to string) map[string]any { return map[string]any{"@odata.id": to} }
	for name, test := range map[string]struct {
		fault bmctest.Fault
		want  error
	}{
		"the service":           {bmctest.Fault{On: service, Do: bmctest.Status(http.StatusInternalServerError)}, verify.Protocol},
		"the types":             {bmctest.Fault{On: service, Do: bmctest.Property("EventTypesForSubscription", 7)}, verify.Protocol},
		"the link":              {bmctest.Fault{On: service, Do: bmctest.Property("Subscriptions", 7)}, verify.Protocol},
		"a link elsewhere":      {bmctest.Fault{On: service, Do: bmctest.Property("Subscriptions", link("//other.invalid/x"))}, verify.Protocol},
		"the collection":        {bmctest.Fault{On: collection, Do: bmctest.Status(http.StatusInternalServerError)}, verify.Protocol},
		"another member":        {bmctest.Fault{On: collection, Do: bmctest.Property("Members", []any{nil, link(collection + "/1")})}, nil},
		"the subscription":      {bmctest.Fault{On: collection + "/1", Do: bmctest.Status(http.StatusInternalServerError)}, verify.Protocol},
		"a type of a property":  {bmctest.Fault{On: collection + "/1", Do: bmctest.Property("Context", 7)}, verify.Protocol},
		"a subscription's ID":   {bmctest.Fault{On: collection + "/1", Do: bmctest.WithoutProperty("Id")}, verify.Protocol},
		"nothing: all is there": {bmctest.Fault{On: "/none"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d, server := vendorDriver(t)
			_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish"})
			require.NoError(t, err)
			server.AddFault(test.fault)
			found, err := d.Subscription(t.Context(), "node", "1")
			require.ErrorIs(t, err, test.want)
			require.NotErrorIs(t, err, bmc.ErrNoSubscription)
			require.Equal(t, test.want == nil, found.ID == "1")
			if test.want != nil {
				require.Equal(t, bmc.Subscription{}, found)
			}
		})
	}
}

func TestSecretOfASubscriptionIsInNoError(t *testing.T) {
	server := startRedfish(t)
	server.AddFault(bmctest.Fault{On: "/redfish/v1/EventService/Subscriptions", Method: "POST",
		Do: bmctest.Handle("echo", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": {"message": "bad header: Bearer 0123456789"}}`))
		})})
	d := newDriver(t, 0, map[string]bmc.Config{"node": configOf(server)})
	_, err := d.Subscribe(t.Context(), "node", bmc.Subscription{Destination: "https://events.example", Protocol: "Redfish",
		Headers: []map[string]string{{"Authorization": "Bearer 0123456789"}}})
	require.ErrorContains(t, err, "bad header")
	require.NotContains(t, err.Error(), "0123456789")
}
