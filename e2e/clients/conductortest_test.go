// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/conductortest"
	"github.com/ironstate/ironstate/states"
)

func TestGophercloudDeploysANodeOfConductortest(t *testing.T) {
	ironic := conductortest.New(t, conductortest.Config{Series: states.Antelope})
	ironic.Add(conductor.Node{Name: "rack1-7", ProvisionState: states.Available})
	ironic.Refuse(http.StatusConflict)

	client, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: ironic.URL + "/v1"})
	require.NoError(t, err)
	client.Microversion = "1.82"
	deploy := nodes.ProvisionStateOpts{Target: nodes.TargetActive}
	err = nodes.ChangeProvisionState(t.Context(), client, "rack1-7", deploy).Err
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusConflict), err)
	require.NoError(t, nodes.ChangeProvisionState(t.Context(), client, "rack1-7", deploy).Err)
	ironic.WaitFor(t.Context(), "rack1-7", states.Active)
}
