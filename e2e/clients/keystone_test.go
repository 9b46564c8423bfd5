// SPDX-License-Identifier: Apache-2.0

package clients_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/clients"
)

func TestKeystoneGivesTheEndpointForThePassword(t *testing.T) {
	keystone := httptest.NewServer(clients.Keystone("http://192.0.2.1:6385/v1"))
	defer keystone.Close()
	defer http.DefaultClient.CloseIdleConnections()
	credentials := gophercloud.AuthOptions{
		IdentityEndpoint: keystone.URL + "/v3",
		Username:         "admin", Password: "keystone", DomainID: "default", TenantName: "admin",
	}
	provider, err := openstack.AuthenticatedClient(t.Context(), credentials)
	require.NoError(t, err)
	ironic, err := openstack.NewBareMetalV1(provider, gophercloud.EndpointOpts{})
	require.NoError(t, err)
	require.Equal(t, "http://192.0.2.1:6385/v1/", ironic.ResourceBaseURL())

	credentials.Password = "wrong"
	_, err = openstack.AuthenticatedClient(t.Context(), credentials)
	require.True(t, gophercloud.ResponseCodeIs(err, http.StatusUnauthorized), err)
}
