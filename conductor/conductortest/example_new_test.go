// SPDX-License-Identifier: Apache-2.0

package conductortest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

// deploy is the client under test. It repeats a request that finds the node locked.
func deploy(ironicURL, node string) error {
	for range 3 {
		switch status := request("PUT", ironicURL+"/v1/nodes/"+node+"/states/provision", `{"target": "active"}`); status {
		case http.StatusAccepted:
			return nil
		case http.StatusConflict:
		default:
			return fmt.Errorf("deploy %s: status %d", node, status)
		}
	}
	return fmt.Errorf("deploy %s: the node stays locked", node)
}

// This test drives a client. The node is locked at first.
func testOfDeploy(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
	ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	ironic.Refuse(http.StatusConflict)

	require.NoError(t, deploy(ironic.URL, "rack1-7"))
	ironic.WaitFor(t.Context(), "rack1-7", states.Active)
}

func ExampleNew() { testOfDeploy(new(testing.T)) } // in a real test, go test passes t
