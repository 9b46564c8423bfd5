// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

// waiting creates a node "n" that waits for the heartbeat of an agent.
func (s *server) waiting(agent conductor.AgentInfo) (uuid string) {
	s.t.Helper()
	n, err := s.conductor.CreateNode(s.t.Context(),
		&conductor.Node{Name: "n", Driver: "fake-hardware", ProvisionState: states.DeployWait, Agent: agent})
	require.NoError(s.t, err)
	return n.UUID
}

func TestALookupNeedsAUUIDOrTheAddressOfAnInterface(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	for _, query := range []string{"", "?addresses=", "?addresses=nonsense,52:54:00"} {
		a := s.do("GET", "/v1/lookup"+query, "latest", "")
		require.Equal(t, "At least one of 'addresses' and 'node_uuid' parameters is required", a.fault(), query)
		require.Equal(t, http.StatusBadRequest, a.status)
	}
}

func TestALookupSinceVersion1_62GivesTheAgentItsToken(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.waiting(conductor.AgentInfo{})
	token := func(version string) any {
		config := s.do("GET", "/v1/lookup?node_uuid="+uuid, version, "").must(http.StatusOK)["config"].(map[string]any)
		require.Contains(t, config, "agent_token")
		return config["agent_token"]
	}
	require.Nil(t, token("1.61"))
	require.Equal(t, "******", token("1.62"), "the first lookup has taken it")
}

func TestALookupThatIsCancelledDoesNotSayThatThereIsNoNode(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.waiting(conductor.AgentInfo{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := s.send(request("GET", "/v1/lookup?node_uuid="+uuid, "latest", http.NoBody).WithContext(ctx))
	require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
}

func TestAHeartbeatOfAnAbsentNodeHasAtMost4KiB(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.create(`{"driver": "fake-hardware", "name": "n"}`)
	const around = len(`{"callback_url": ""}`)
	for _, c := range []struct {
		node   string
		bytes  int
		status int
		fault  string
	}{
		{"absent", 4 << 10, http.StatusNotFound, "Node absent could not be found."},
		{"absent", 4<<10 + 1, http.StatusRequestEntityTooLarge, "Request body is too large."},
		{"n", 4<<10 + 1, http.StatusBadRequest, `An issue with the supplied "callback_url" has been detected.`},
	} {
		a := s.do("POST", "/v1/heartbeat/"+c.node, "latest", `{"callback_url": "`+strings.Repeat("u", c.bytes-around)+`"}`)
		require.Equal(t, c.fault, a.fault(), "%s: %d bytes", c.node, c.bytes)
		require.Equal(t, c.status, a.status, a.body)
	}
}

func TestAnAgentKeepsItsURL(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.waiting(conductor.AgentInfo{URL: "http://192.0.2.1:9999", Token: "t"})
	beat := func(url string) reply {
		return s.do("POST", "/v1/heartbeat/n", "latest", `{"callback_url": "`+url+`", "agent_version": "9", "agent_token": "t"}`)
	}
	require.Equal(t, `Detected change in ramdisk provided "callback_url"`, beat("http://10.0.0.3:9999").fault())
	require.Equal(t, http.StatusAccepted, beat("http://192.0.2.1:9999").status)
}

// TestAHeartbeatNamesOnlyTheAddressThatItCameFrom sends heartbeats with the right token from 192.0.2.1.
func TestAHeartbeatNamesOnlyTheAddressThatItCameFrom(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.waiting(conductor.AgentInfo{Token: "t"})
	for _, url := range []string{
		"http://10.0.0.2:9999", "http://127.0.0.1:9999", "http://localhost:9999", "http://169.254.169.254", "http://[::1]:9999",
		"http://192.0.2.1:9999/redfish/v1", "http://192.0.2.1:9999?a=b",
		"http://u:p@192.0.2.1:9999", "http://192.0.2.1/#a", "file:///etc/passwd", "u",
	} {
		r := request("POST", "/v1/heartbeat/n", "latest",
			strings.NewReader(`{"callback_url": "`+url+`", "agent_version": "9", "agent_token": "t"}`))
		r.Header.Set("X-Forwarded-For", "10.0.0.2")
		r.Header.Set("Forwarded", "for=10.0.0.2")
		a := s.send(r)
		require.Equal(t, http.StatusBadRequest, a.status, url)
		require.Contains(t, a.fault(), `An issue with the supplied "callback_url" has been detected`)
		n, err := s.conductor.Node(t.Context(), uuid)
		require.NoError(t, err)
		require.Equal(t, conductor.AgentInfo{Token: "t"}, n.Agent, url)
	}
}

// agentRequests are the requests that agents send, also in the forms that Ironic's web framework accepts.
func agentRequests(uuid string) map[string]string {
	all := map[string]string{}
	for _, prefix := range []string{"/v1", "", "//v1"} {
		all["GET "+prefix+"/lookup?node_uuid="+uuid] = ""
		all["POST "+prefix+"/heartbeat/n"] = `{"callback_url": "http://192.0.2.1:9999", "agent_version": "9", "agent_token": "t"}`
		all["POST "+prefix+"/continue_inspection?node_uuid="+uuid] = strings.ReplaceAll(inspectionData, "PXE", "{}")
	}
	all["GET /v1/lookup"], all["GET /v1/lookup?%ff=%ff"], all["POST /v1/heartbeat"], all["POST /v1/continue_inspection"] = "", "", "{", "{"
	return all
}

// SECURITY.md: With `-agent-network` lookups, heartbeats and inspection data from elsewhere get 403.
func TestRequestsOfAgentsFromOtherNetworksAreRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	for networks, admitted := range map[string]bool{
		"192.0.2.0/24": true, "192.0.2.1/32": true, "192.0.3.0/24": false, "2001:db8::/64": false, "": true,
	} {
		config := api.Config{}
		if networks != "" {
			config.AgentNetworks = conductor.AgentNetworks{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix(networks)}
		}
		s := start(t, states.Latest(), config)
		uuid := s.waiting(conductor.AgentInfo{Token: "t"})
		created, err := s.conductor.Node(t.Context(), uuid)
		require.NoError(t, err)
		for what, body := range agentRequests(uuid) {
			method, path, _ := strings.Cut(what, " ")
			r := request(method, path, "latest", strings.NewReader(body))
			r.Header.Set("X-Forwarded-For", "10.0.0.7")
			a := s.send(r)
			require.Equal(t, !admitted, a.status == http.StatusForbidden, "%s from a network beside %q: %d %s", what, networks, a.status, a.body)
			if !admitted {
				require.Regexp(t, `^Access was denied to the following resource: /[a-z1/_]+$`, a.fault())
			}
		}
		s.do("GET", "/v1/nodes/"+uuid, "latest", "").must(http.StatusOK)
		n, err := s.conductor.Node(t.Context(), uuid)
		require.NoError(t, err)
		require.Equal(t, !admitted, n.Revision == created.Revision)
	}
}

// TestEachAudienceHasItsPaths sends requests of agents and clients to the handlers of one conductor.
func TestEachAudienceHasItsPaths(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	uuid := s.waiting(conductor.AgentInfo{Token: "t"})
	clients := &server{t: t, conductor: s.conductor, Handler: api.New(s.conductor, api.Config{Audience: api.Clients})}
	agents := &server{t: t, conductor: s.conductor, Handler: api.New(s.conductor, api.Config{Audience: api.Agents})}
	for _, path := range []string{"/", "/v1", "/v1/"} {
		require.Equal(t, clients.do("GET", path, "", "").must(http.StatusOK), agents.do("GET", path, "", "").must(http.StatusOK))
	}
	for what, body := range agentRequests(uuid) {
		method, path, _ := strings.Cut(what, " ")
		require.Equal(t, http.StatusForbidden, clients.do(method, path, "latest", body).status, what)
		require.NotContains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, agents.do(method, path, "latest", body).status, what)
	}
	links := s.do("GET", "/v1", "latest", "").must(http.StatusOK)
	for name, value := range links {
		if _, is := value.([]any); !is || slices.Contains([]string{"links", "media_types", "lookup", "heartbeat", "continue_inspection"}, name) {
			continue
		}
		for _, path := range []string{"/v1/" + name, "/" + name, "/v1/" + name + "/n", "/v1/" + name + "/lookup", "/v1/" + name + "/n/lookup"} {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				require.Equal(t, http.StatusNotFound, agents.do(method, path, "latest", "{}").status, "%s %s", method, path)
			}
		}
		require.NotEqual(t, http.StatusNotFound, clients.do("GET", "/v1/"+name, "latest", "").status, name)
	}
}

func TestTheMemoryOfBodiesIsFreeAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	body := strings.ReplaceAll(strings.Replace(inspectionData, "H4sI", strings.Repeat("A", 1<<20), 1), "PXE", "{}")
	for range 60 { // the inspections of one address have 30 MiB together
		require.Equal(t, http.StatusNotFound, s.do("POST", "/v1/continue_inspection", "1.1", body).status, "no node waits")
	}
}
