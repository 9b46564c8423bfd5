// SPDX-License-Identifier: Apache-2.0

package conductortest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

func TestAnAgentWithoutTLSIsPermittedIfTheTestSaysSo(t *testing.T) {
	for want, required := range map[int]*bool{http.StatusBadRequest: nil, http.StatusAccepted: new(bool)} {
		s := conductortest.New(t, conductortest.Config{RequireAgentTLS: required})
		n, err := s.Conductor.CreateNode(t.Context(), &conductor.Node{
			Driver: "fake-hardware", ProvisionState: states.CleanHold, Agent: conductor.AgentInfo{Token: "t"},
		})
		require.NoError(t, err)
		body := strings.NewReader(`{"callback_url": "http://127.0.0.1:9999", "agent_version": "9", "agent_token": "t"}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/heartbeat/"+n.UUID, body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-OpenStack-Ironic-API-Version", "1.68")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode)
	}
}
