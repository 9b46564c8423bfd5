// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
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
	n, err := s.conductor.CreateNode(s.t.Context(), &conductor.Node{Name: "n", Driver: "fake-hardware", ProvisionState: states.DeployWait, Agent: agent})
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
		{"n", 4<<10 + 1, http.StatusBadRequest, "Agent token is required for heartbeat processing."},
	} {
		a := s.do("POST", "/v1/heartbeat/"+c.node, "latest", `{"callback_url": "`+strings.Repeat("u", c.bytes-around)+`"}`)
		require.Equal(t, c.fault, a.fault(), "%s: %d bytes", c.node, c.bytes)
		require.Equal(t, c.status, a.status, a.body)
	}
}

func TestAnAgentKeepsItsURL(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	s.waiting(conductor.AgentInfo{URL: "http://10.0.0.2:9999", Token: "t"})
	beat := func(url string) reply {
		return s.do("POST", "/v1/heartbeat/n", "latest", `{"callback_url": "`+url+`", "agent_version": "9", "agent_token": "t"}`)
	}
	require.Equal(t, `Detected change in ramdisk provided "callback_url"`, beat("http://10.0.0.3:9999").fault())
	require.Equal(t, http.StatusAccepted, beat("http://10.0.0.2:9999").status)
}

func TestTheMemoryOfBodiesIsFreeAfterTheAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, states.Latest(), api.Config{})
	body := strings.ReplaceAll(strings.Replace(inspectionData, "H4sI", strings.Repeat("A", 1<<20), 1), "PXE", "{}")
	for range 20 { // agents' bodies have 16 MiB together
		require.Equal(t, http.StatusNotFound, s.do("POST", "/v1/continue_inspection", "1.1", body).status, "no node waits")
	}
}
