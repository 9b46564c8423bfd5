// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
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
		node := enroll(t.Context(), "node", byProvider("rpc", server.URL, "admin", "secret-password"))
		server.Close()
		require.Equal(t, want, node.State, node.LastError)
		require.Equal(t, []rpc.Method{rpc.PingMethod, rpc.PowerGetMethod}, asked)
		if fault == "" {
			require.Equal(t, states.PowerOn, node.power)
		} else {
			require.Contains(t, node.LastError, fault)
		}
	}
}

func TestTheProvidersAreThoseOfBmclib(t *testing.T) {
	require.Subset(t, providers(), []string{"IntelAMT", "asrockrack", "dell", "gofish", "openbmc", "rpc", "supermicro"})
}
