// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"
)

// The credentials that [Keystone] accepts, and the region of its catalog. Every user has the
// password.
const (
	keystoneUser     = "admin"
	keystonePassword = "keystone"
	keystoneRegion   = "RegionOne"
)

// Keystone returns the part of OpenStack's identity service by which a client finds the
// bare metal endpoint in the catalog: it issues a token for a password, with a catalog of
// one service. No server checks the token.
func Keystone(baremetal string) http.Handler {
	type object = map[string]any
	catalog := []object{{
		"id": "ironic", "name": "ironic", "type": "baremetal",
		"endpoints": []object{{
			"id": "public", "interface": "public", "url": baremetal,
			"region": keystoneRegion, "region_id": keystoneRegion,
		}},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Auth struct {
				Identity struct {
					Password struct {
						User struct{ Name, Password string }
					}
				}
			}
		}
		user := &request.Auth.Identity.Password.User
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil ||
			user.Name == "" || user.Password != keystonePassword {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(object{"token": object{
			"methods": []string{"password"}, "expires_at": "2999-01-01T00:00:00.000000Z", "catalog": catalog,
			"user": object{"id": user.Name, "name": user.Name, "domain": object{"id": "default", "name": "Default"}},
		}})
	})
	return mux
}

func TestKeystoneGivesTheEndpointForThePassword(t *testing.T) {
	keystone := httptest.NewServer(Keystone("http://192.0.2.1:6385/v1"))
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
