package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
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
			f := startSeries(t, test.server, conductor.Node{ProvisionState: states.Available})
			out, err := bring(t, f, plan.In(states.Active), func(o *options) { o.version, o.node = test.asked, f.node.UUID })
			require.NoError(t, err)
			require.Contains(t, out, test.want)
			require.Equal(t, []string{"active"}, f.verbs())
		})
	}
	t.Run("one that the server does not speak", func(t *testing.T) {
		f := startSeries(t, states.Antelope, conductor.Node{})
		_, err := bring(t, f, plan.In(states.Active), func(o *options) { o.version = 83 })
		require.EqualError(t, err, "node-1 has not come to active: the server speaks API 1.1 to 1.82, not 1.83")
		require.Zero(t, f.asked["GET"])
	})
}

func TestOnlyGetFollowsARedirect(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.Available})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, f.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	_, err := bring(t, f, plan.In(states.Active), func(o *options) { o.endpoint = front.URL })
	require.ErrorContains(t, err, "send active: 307 Temporary Redirect")
	require.Empty(t, f.verbs())
}

// A list of gophercloud's own nodes keeps those in a state that is null, or that
// only a newer Ironic has.
func TestAListOfNodesSurvivesAnUnknownState(t *testing.T) {
	f := start(t, conductor.Node{ProvisionState: states.Available}) // null below 1.2
	f.Add(conductor.Node{ProvisionState: states.Rescue})
	f.Add(conductor.Node{ProvisionState: states.DeployFail})
	f.rewrite(`"rescue"`, `"levitating"`)
	client, err := newIronic(f.URL)
	require.NoError(t, err)
	defer client.close()
	client.v1.Microversion = "1.1"
	page, err := nodes.ListDetail(client.v1, nil).AllPages(t.Context())
	require.NoError(t, err)
	all, err := nodes.ExtractNodes(page)
	require.NoError(t, err)
	require.Len(t, all, 3)

	want := []states.Reported{
		{}, {State: states.UnknownState, Unknown: "levitating"}, {State: states.DeployFail},
	}
	back := []string{"null", `"levitating"`, `"deploy failed"`}
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
