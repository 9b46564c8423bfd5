// SPDX-License-Identifier: Apache-2.0

package bmc_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify/bmc"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// The links, actions, pages and redirects of a BMC name another server.
//
// SECURITY.md: All requests go to the configured host.
func TestABMCSendsNobodyToAnotherHost(t *testing.T) {
	var connections atomic.Int32
	other := httptest.NewUnstartedServer(nil)
	other.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	other.StartTLS()
	defer other.Close()
	link := map[string]any{"@odata.id": other.URL + "/redfish/v1/Systems/1", "target": other.URL}
	redirect := bmctest.Redirect(http.StatusTemporaryRedirect, other.URL+"*")
	for i, fault := range []bmctest.Fault{
		{Do: redirect},
		{On: systemPath, Do: redirect},
		{On: systemPath + "/Actions/ComputerSystem.Reset", Do: redirect},
		{On: "/redfish/v1/SessionService/Sessions", Do: redirect},
		{On: "/redfish/v1/", Do: bmctest.Property("Systems", link)},
		{On: systemsPath, Do: bmctest.Property("Members", []any{link})},
		{On: systemsPath, Do: bmctest.Property("Members@odata.nextLink", other.URL+systemsPath)},
		{On: systemPath, Do: bmctest.Property("Actions", map[string]any{"#ComputerSystem.Reset": link})},
		{On: systemPath, Do: bmctest.Property("Bios", link)},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			server := startRedfish(t, func(c *bmctest.RedfishConfig) { c.Faults = []bmctest.Fault{fault} })
			d := newDriver(t, 1, map[string]bmc.Config{"node": configOf(server)})
			_, _ = d.PowerState(t.Context(), "node")
			_ = d.SetPower(t.Context(), "node", states.PowerOn)
			_, _ = d.Inspect(t.Context(), "node")
			_, _ = d.BIOS(t.Context(), "node")
			require.NotEmpty(t, server.Requests())
			require.Zero(t, connections.Load())
		})
	}
}
