package conductortest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do makes a request at the highest version and returns the status and the body.
func do(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	var object map[string]any
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &object), "%s", text)
	}
	return response.StatusCode, object
}

func TestATestDecidesHowWorkGoes(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{})
	n := ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	provision := ironic.URL + "/v1/nodes/rack1-7/states/provision"

	begun, proceed := make(chan bool), make(chan error)
	ironic.Next(n, "deploy.deploy", func(context.Context) error { close(begun); return <-proceed })
	ironic.Next(n, "deploy.deploy", func(context.Context) error { return conductor.ErrWait })
	status, _ := do(t, http.MethodPut, provision, `{"target": "active"}`)
	require.Equal(t, http.StatusAccepted, status)
	<-begun
	_, node := do(t, http.MethodGet, ironic.URL+"/v1/nodes/rack1-7", "")
	require.Equal(t, "deploying", node["provision_state"])
	require.Equal(t, "conductortest", node["reservation"])
	proceed <- errors.New("no such image")
	n = ironic.WaitFor(t.Context(), "rack1-7", states.DeployFail)
	require.Equal(t, "step deploy.deploy failed: no such image", n.LastError)

	status, _ = do(t, http.MethodPut, provision, `{"target": "active"}`)
	require.Equal(t, http.StatusAccepted, status)
	ironic.WaitFor(t.Context(), "rack1-7", states.DeployWait)
	require.NoError(t, ironic.Conductor.Resume(t.Context(), n.UUID, nil))
	ironic.WaitFor(t.Context(), "rack1-7", states.Active)
}

func TestRefuseAndWrap(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
	n := ironic.Add(conductor.Node{})
	ironic.Refuse(http.StatusConflict, http.StatusServiceUnavailable)
	provision := ironic.URL + "/v1/nodes/" + n.UUID + "/states/provision"
	for _, want := range []int{http.StatusConflict, http.StatusServiceUnavailable, http.StatusAccepted} {
		status, _ := do(t, http.MethodPut, provision, `{"target": "manage"}`)
		require.Equal(t, want, status)
	}
	ironic.WaitFor(t.Context(), n.UUID, states.Manageable)

	ironic.Wrap(func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "{}")
		})
	})
	status, _ := do(t, http.MethodGet, ironic.URL+"/v1", "")
	require.Equal(t, http.StatusTeapot, status)
}
