// SPDX-License-Identifier: Apache-2.0

package exchanges_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/internal/exchanges"
)

func TestResponsesReplaceTheRecordedOnes(t *testing.T) {
	busy := 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error_message": "{\"faultstring\": \"Error: HTTP PATCH http://bmc/1 returned code 400. `+
				`Why\",  \"a\": null}", "list": [{"last_error": "Error: set the boot mode: redfish 127.0.0.1:1: why"}]}`)
		case busy > 0:
			busy--
			fmt.Fprint(w, `{"provision_state": "cleaning", "target_provision_state": "available", "reservation": "a"}`)
		default:
			fmt.Fprintf(w, `{"provision_state": "available", "b": %q, "a": "2026-11-22T01:02:03.4+00:00", "link": "http://%s/v1"}`,
				r.URL.Query().Get("is"), r.Host)
		}
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	const recorded = `wait n

GET /v1/nodes/n?is=VALUE 1.81
= 200
{"a":"TIME","b":"VALUE","link":"HOST/v1","provision_state":"available"}

PUT /v1/nodes/n 1.81
= 400
{"error_message":{"a":null,"faultstring":"Error: REASON"},"list":[{"last_error":"Error: REASON"}]}

DELETE /v1/nodes/n 1.81
= 204

`
	played, err := exchanges.Play(server.URL, recorded, map[string]string{"VALUE": "seven"})
	require.NoError(t, err)
	require.Equal(t, recorded, played)
	played, err = exchanges.Play(server.URL, "GET /v1/nodes/n 1.81\n= 404\n", nil)
	require.NoError(t, err)
	require.Contains(t, played, "= 200")
	_, err = exchanges.Play(server.URL, "GET /v1/nodes/n", nil)
	require.ErrorContains(t, err, "is no request")
}
