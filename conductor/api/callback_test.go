// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/api"
	"github.com/ironstate/ironstate/states"
)

func TestAHeartbeatWithACallbackThatIsNoURLOfAnAgentChangesNothing(t *testing.T) {
	for _, series := range []states.Series{states.Antelope, states.Dalmatian, states.Epoxy, states.Latest()} {
		s := start(t, series, api.Config{})
		for _, waits := range []states.State{states.CleanWait, states.DeployWait} {
			id := s.have(&conductor.Node{
				Driver: "fake-hardware", ProvisionState: waits, TargetProvisionState: states.Available,
				Interfaces: map[string]string{"deploy": "direct"}, Agent: conductor.AgentInfo{Token: "t"},
			})
			record := s.do("GET", "/v1/nodes/"+id, "latest", "").must(http.StatusOK)
			for _, callback := range []string{
				"not a url", "file:", "ftp:", "file:///etc/passwd", "ftp://192.0.2.1:9999", "http:", "http://", "https:///", "http://:9999",
				"//192.0.2.1:9999", "192.0.2.1:9999", "http://192.0.2.1:port", "http://192.0.2.1:0", "http://192.0.2.1:65536", "https://192.0.2.1:-1",
				"http://[192.0.2.1]:9999/%zz", "http://[::1", "javascript:alert(1)", " http://192.0.2.1:9999", "http://192.0.2.1:9999\n",
				"http://192.0.2.1:9999/v1", "http://user@192.0.2.1:9999", "http://192.0.2.1:9999?", "http://192.0.2.1:9999#a", "",
			} {
				body, err := json.Marshal(map[string]string{"callback_url": callback, "agent_version": "9", "agent_token": "t"})
				require.NoError(t, err)
				answer := s.do("POST", "/v1/heartbeat/"+id, "1.68", string(body))
				require.Equal(t, http.StatusBadRequest, answer.status, "%v %q: %s", series, callback, answer.body)
				require.Contains(t, answer.fault(), "callback_url")
				require.Equal(t, record, s.do("GET", "/v1/nodes/"+id, "latest", "").must(http.StatusOK), callback)
			}
		}
	}
}
