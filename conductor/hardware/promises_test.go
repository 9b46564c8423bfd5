// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardwaretest"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

func TestTheTypesKeepThePromisesOfHardware(t *testing.T) {
	t.Run("redfish", func(t *testing.T) {
		server := startRedfish(t)
		changes := func() (count int) {
			for _, r := range server.Requests() { // a log-out needs no permission
				if r.Method == http.MethodPost || r.Method == http.MethodPatch {
					count++
				}
			}
			return count
		}
		require.NoError(t, hardwaretest.Check(hardwaretest.Config{
			Hardware: newRedfish(t, hardware.Config{}), Node: &conductor.Node{Driver: "redfish", DriverInfo: redfishInfo(t, server)},
			Changes: changes, Secrets: []string{password}, Break: func() { server.AddFault(bmctest.Fault{Do: bmctest.Refuse()}) },
		}))
	})
	t.Run("ipmi", func(t *testing.T) {
		server := startIPMI(t)
		ipmi, err := hardware.NewIPMI(hardware.Config{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ipmi.Close(context.Background())) })
		require.NoError(t, hardwaretest.Check(hardwaretest.Config{
			Hardware: ipmi, Node: &conductor.Node{Driver: "ipmi", DriverInfo: ipmiInfo(server)},
			Changes: func() int { return server.Logins().Attempts }, Secrets: []string{password}, Break: server.Kill,
		}))
	})
}
