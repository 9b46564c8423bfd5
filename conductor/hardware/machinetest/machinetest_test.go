// SPDX-License-Identifier: Apache-2.0

package machinetest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/conductor/hardware/machinetest"
	"github.com/ironstate/ironstate/internal/leaks"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// request sends a request for a provision state, as a controller does.
func request(t *testing.T, l *machinetest.Lab, target string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, l.URL+"/v1/nodes/rack1-7/states/provision",
		strings.NewReader(`{"target": "`+target+`"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	for status := http.StatusConflict; status == http.StatusConflict; { // until no heartbeat holds the node
		r.Body, err = r.GetBody()
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		if status = answer.StatusCode; status != http.StatusConflict {
			require.Equal(t, http.StatusAccepted, status)
		}
	}
}

func requireRuns(t *testing.T, what string, l *machinetest.Lab) {
	t.Helper()
	for l.Machine.Running() != what {
		time.Sleep(time.Millisecond)
	}
}

func TestANodeGoesFromEnrollToActiveAndBack(t *testing.T) {
	for _, config := range []machinetest.Config{
		{}, {Series: states.Antelope}, {Profile: bmctest.Lenovo(), SkipAutomatedClean: true}, {Profile: bmctest.Gigabyte(), DiskSize: 128 << 20},
	} {
		t.Run(config.Series.String()+" "+config.Profile.Name, func(t *testing.T) {
			l := machinetest.New(t, config)
			l.Enroll("rack1-7")
			request(t, l, "manage")
			l.WaitFor(t.Context(), "rack1-7", states.Manageable)
			request(t, l, "provide")
			l.WaitFor(t.Context(), "rack1-7", states.Available)
			image := agenttest.Image(3<<20, 7)
			for _, content := range [][]byte{image, agenttest.QCOW2(image)} {
				_, err := l.Conductor.UpdateNode(t.Context(), "rack1-7", func(n *conductor.Node) error {
					n.InstanceInfo = l.InstanceInfo(content)
					return nil
				})
				require.NoError(t, err)
				request(t, l, "active")
				l.WaitFor(t.Context(), "rack1-7", states.Active)
				require.Equal(t, image[512:], l.Disk()[512:len(image)])
				requireRuns(t, "disk", l)
				request(t, l, "deleted")
				l.WaitFor(t.Context(), "rack1-7", states.Available)
				requireRuns(t, "", l)
			}
		})
	}
}

func TestAFaultOfTheAgentFailsTheDeployment(t *testing.T) {
	l := machinetest.New(t, machinetest.Config{SkipAutomatedClean: true})
	n := l.Enroll("rack1-7")
	request(t, l, "manage")
	l.WaitFor(t.Context(), n.UUID, states.Manageable)
	request(t, l, "provide")
	l.WaitFor(t.Context(), n.UUID, states.Available)
	_, err := l.Conductor.UpdateNode(t.Context(), n.UUID, func(n *conductor.Node) error {
		n.InstanceInfo = l.InstanceInfo(agenttest.Image(3<<20, 7))
		return nil
	})
	require.NoError(t, err)
	l.Machine.AddFault(agenttest.Fault{On: "write_image", Do: agenttest.Fail("the disk is broken")})
	request(t, l, "active")
	require.Contains(t, l.WaitFor(t.Context(), n.UUID, states.DeployFail).LastError, "the disk is broken")
}
