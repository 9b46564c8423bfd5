// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/bmc-toolbox/bmclib/v2"
	"github.com/bmc-toolbox/bmclib/v2/providers/rpc"

	"github.com/ironstate/ironstate/verify/bmc"
)

// A service that switches machines, such as a power strip's, is asked by bmclib's rpc
// provider.
func ExampleFromClient() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result": "on"}`)
	}))
	defer service.Close()

	verifier := bmc.FromClient(func() *bmclib.Client {
		return bmclib.NewClient("rack-7", "", "", bmclib.WithRPCOpt(rpc.Provider{ConsumerURL: service.URL}))
	})
	power, err := verifier.Verify(context.Background())
	fmt.Println(power, err)
	// Output: power on <nil>
}
