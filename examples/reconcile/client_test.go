package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

func TestTheVersionIsTheHighestThatBothSpeak(t *testing.T) {
	tests := map[string]struct {
		server states.Series
		asked  states.APIVersion
		want   string
	}{
		"the server's highest":      {states.Antelope, 0, "asked in 1.82 as a server of 2023.1"},
		"as asked for":              {states.Antelope, 50, "asked in 1.50 as a server of 2023.1"},
		"an old server":             {states.Kilo, 0, "asked in 1.6 as a server of kilo"},
		"available has no name yet": {states.Kilo, 1, "asked in 1.1 as a server of kilo"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ironic := startFake(t, machine.Node{State: states.Available}, func(f *fake) { f.table = test.server.Table() })
			out, err := bring(t, ironic, plan.Active, func(o *options) { o.version = test.asked })
			require.NoError(t, err)
			require.Contains(t, out, test.want)
			require.Equal(t, []string{"active"}, ironic.verbs())
		})
	}
	t.Run("one that the server does not speak", func(t *testing.T) {
		ironic := startFake(t, machine.Node{State: states.Enroll}, func(f *fake) { f.table = states.Antelope.Table() })
		_, err := bring(t, ironic, plan.Active, func(o *options) { o.version = 83 })
		require.EqualError(t, err, "node-1 has not come to active: the server speaks API 1.1 to 1.82, not 1.83")
		require.Zero(t, ironic.asked["GET"])
	})
}

func TestOnlyLooksFollowARedirect(t *testing.T) {
	ironic := startFake(t, machine.Node{State: states.Available})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, ironic.url()+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	_, err := bring(t, ironic, plan.Active, func(o *options) { o.endpoint = front.URL })
	require.ErrorContains(t, err, "send active: 307 Temporary Redirect")
	require.Empty(t, ironic.verbs())
}

// A list of gophercloud's own nodes keeps those in a state that is null, or that
// only a newer Ironic has.
func TestAListOfNodesSurvivesAnUnknownState(t *testing.T) {
	const list = `{"nodes": [
		{"uuid": "1", "provision_state": null, "target_provision_state": null},
		{"uuid": "2", "provision_state": "levitating", "target_provision_state": "orbit"},
		{"uuid": "3", "provision_state": "deploying", "target_provision_state": "active"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(list))
	}))
	defer server.Close()
	client, err := newClient(options{endpoint: server.URL, node: "1"})
	require.NoError(t, err)
	defer client.close()
	page, err := nodes.List(client.v1, nil).AllPages(t.Context())
	require.NoError(t, err)
	all, err := nodes.ExtractNodes(page)
	require.NoError(t, err)
	require.Len(t, all, 3)

	want := []states.Reported{
		{}, {State: states.UnknownState, Unknown: "levitating"}, {State: states.Deploying},
	}
	back := []string{"null", `"levitating"`, `"deploying"`}
	for i, node := range all {
		reported := states.ParseReported(node.ProvisionState)
		require.Equal(t, want[i], reported)
		encoded, err := json.Marshal(reported)
		require.NoError(t, err)
		require.Equal(t, back[i], string(encoded))
	}
	state, err := states.Parse(all[0].ProvisionState)
	require.NoError(t, err, "gophercloud has the empty text for null")
	require.Equal(t, states.NoState, state)
}

func TestWaits(t *testing.T) {
	p := patience{times: 5, first: time.Second, most: 5 * time.Second, longest: time.Minute}
	refused := func(after time.Duration) error {
		return &refusal{what: "look", status: http.StatusConflict, after: after}
	}
	tests := []struct {
		row   int
		after time.Duration
		want  time.Duration
	}{
		{1, 0, time.Second},
		{2, 0, 2 * time.Second},
		{3, 0, 4 * time.Second},
		{4, 0, 5 * time.Second},
		{5, 0, 5 * time.Second},
		{1, 500 * time.Millisecond, time.Second},
		{1, 7 * time.Second, 7 * time.Second},
		{5, time.Minute, time.Minute},
	}
	for _, test := range tests {
		got, err := p.wait(refused(test.after), test.row)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test)
	}
	_, err := p.wait(refused(0), 6)
	require.EqualError(t, err, "refused 6 times in a row: look: 409 Conflict")
	_, err = p.wait(refused(61*time.Second), 1)
	require.EqualError(t, err, "asked to wait for 1m1s, which is longer than 1m0s: look: 409 Conflict")
	_, err = p.wait(http.ErrServerClosed, 1)
	require.ErrorIs(t, err, http.ErrServerClosed)
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"-5":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Thu, 20 Aug 2026 12:00:30 GMT": 30 * time.Second,
		"Thu, 20 Aug 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(header, now), header)
	}
}

func TestTheTextOfAFault(t *testing.T) {
	for body, want := range map[string]string{
		`{"error_message": "{\"faultstring\": \"locked\"}"}`: "locked",
		`{"error_message": "{\"description\": \"denied\"}"}`: "denied",
		`{"error_message": {"faultstring": "locked"}}`:       "locked",
		`{"error_message": "plain"}`:                         "plain",
		`{"error_message": ["?"]}`:                           "",
		`{"other": 1}`:                                       "",
		`<html>a proxy says much</html>`:                     "",
		``:                                                   "",
	} {
		require.Equal(t, want, faultOf([]byte(body)), body)
	}
}
