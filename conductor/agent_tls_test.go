// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// [agent]require_tls is True by default since 2024.2.
//
// SECURITY.md: An agent that serves its API without TLS is refused since 2024.2, unless `-agent-require-tls=false` is
// given.
func TestAgentsWithoutTLSAreRefusedAsTheConfigurationSaysOrByDefaultAsInIronic(t *testing.T) {
	yes, no := true, false
	for series := range states.AllSeries() {
		for said, required := range map[*bool]bool{nil: series >= states.Dalmatian, &yes: true, &no: false} {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, func(c *conductor.Config) { c.Table, c.RequireAgentTLS = series.Table(), said })
				n := f.create(conductor.Node{
					ProvisionState: states.Deploying, TargetProvisionState: states.Active, Maintenance: true, Reservation: "beta", Claim: otherMember,
					Agent: conductor.AgentInfo{Token: "t"},
				})
				before := f.settle(n)
				beat := conductor.Heartbeat{From: agentAt, CallbackURL: "http://10.0.0.7:9999", AgentVersion: "9", AgentToken: "t"}
				err := f.Heartbeat(f.ctx, n.UUID, beat)
				if required {
					require.EqualError(t, err, "TLS is required by configuration", "%v", series)
					require.Equal(t, 400, conductor.HTTPStatus(err))
					require.Equal(t, before, f.settle(n), "nothing changes")
					beat.CallbackURL = "https://10.0.0.7:9999"
					err = f.Heartbeat(f.ctx, n.UUID, beat)
				}
				require.NoError(t, err, "%v", series)
				require.Equal(t, beat.CallbackURL, f.settle(n).Agent.URL)
			})
		}
	}
}
