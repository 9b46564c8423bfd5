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
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
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
		config := bmc.Config{Host: server.URL, Protocol: "auto", User: "admin", Password: secret.New("secret-password")}
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

func TestANodeIsEnrolledByAProviderForItsBMC(t *testing.T) {
	server, err := bmctest.NewRedfish(bmctest.RedfishConfig{Systems: []bmctest.System{{ID: "1", Power: "On"}}})
	require.NoError(t, err)
	defer server.Close()
	right := bmc.Config{
		Host: server.Host, RedfishPort: server.Port, RootCAs: server.CertPool, Protocol: "auto",
		User: bmctest.DefaultUser, Password: secret.New(bmctest.DefaultPassword),
	}
	wrong, unverified := right, right
	wrong.Password = secret.New("wrong horse")
	unverified.RootCAs = nil
	for name, c := range map[string]struct {
		config bmc.Config
		want   states.State
		row    string
	}{
		"right":      {right, states.Manageable, "power on"},
		"wrong":      {wrong, states.Enroll, "credentials refused"},
		"unverified": {unverified, states.Enroll, "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			var row strings.Builder
			require.Equal(t, c.want, enroll(t.Context(), &row, "node", c.config, "gofish"), row.String())
			require.Contains(t, row.String(), c.row)
		})
	}
}

func TestEachProviderIsBmclibsAndHasAPortIfBmclibHasAnOption(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // bmclib has no provider ipmitool without the program
	for provider, hasPort := range map[string]bool{
		"asrockrack": true, "dell": false, "gofish": true, "IntelAMT": false, "openbmc": false, "rpc": false,
	} {
		_, err := verifier(bmc.Config{Host: "127.0.0.1", Protocol: "auto"}, provider)
		require.NoError(t, err)
		_, err = verifier(bmc.Config{Host: "127.0.0.1", RedfishPort: 8443, Protocol: "auto"}, provider)
		require.Equal(t, hasPort, err == nil, provider)
		_, err = verifier(bmc.Config{Host: "127.0.0.1", Protocol: "ipmi"}, provider)
		require.ErrorContains(t, err, "-protocol are not for provider")
	}
	_, err := verifier(bmc.Config{Host: "127.0.0.1", Protocol: "auto"}, "ipmitool")
	require.ErrorContains(t, err, `bmclib has no provider "ipmitool"`)
	_, err = verifier(bmc.Config{Host: "127.0.0.1", Protocol: "auto"}, "supermicro")
	require.ErrorContains(t, err, "verifies no certificates")
}
