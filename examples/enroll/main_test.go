// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/secret"
)

func TestANodeIsEnrolledByTheProviderRPC(t *testing.T) {
	for fault, want := range map[string]states.State{"": states.Manageable, "no such machine": states.Enroll} {
		var asked []rpc.Method
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request rpc.RequestPayload
			_ = json.NewDecoder(r.Body).Decode(&request) // an empty request has no method
			asked = append(asked, request.Method)
			answer := rpc.ResponsePayload{ID: request.ID, Host: request.Host}
			if request.Method == rpc.PowerGetMethod {
				if answer.Result = "on"; fault != "" {
					answer.Result, answer.Error = nil, &rpc.ResponseError{Code: 1, Message: fault}
				}
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // the client says if it does not arrive
		}))
		var row strings.Builder
		config := bmc.Config{Host: server.URL, User: "admin", Password: secret.New("secret-password")}
		require.Equal(t, want, enroll(t.Context(), &row, "node", config, "rpc"), row.String())
		server.Close()
		require.Equal(t, []rpc.Method{rpc.PingMethod, rpc.PowerGetMethod}, asked)
		if fault == "" {
			require.Equal(t, "node\tmanageable\tpower on\t\n", row.String())
		} else {
			require.Contains(t, row.String(), fault)
		}
	}
}

func TestTheProvidersAreThoseOfBmclib(t *testing.T) {
	require.Subset(t, providers(), []string{"IntelAMT", "asrockrack", "dell", "gofish", "openbmc", "rpc", "supermicro"})
}
