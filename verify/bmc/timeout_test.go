// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package bmc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/secret"
)

// over is a connection over a protocol.
type over struct {
	heldConnection
	name string
}

func (o *over) protocol() string { return o.name }

func TestACallHasTheTimeThatItsProtocolNeeds(t *testing.T) {
	for _, test := range []struct {
		protocol      string
		timeout, step time.Duration
		long          bool
		redfish, ipmi time.Duration // after which an operation that hangs over it has ended
	}{
		{protocol: "redfish", redfish: 30 * time.Second},
		{protocol: "ipmi", ipmi: 90 * time.Second},
		{protocol: "auto", redfish: 30 * time.Second, ipmi: 120 * time.Second},
		{protocol: "auto", timeout: time.Minute, redfish: time.Minute, ipmi: time.Minute},
		{protocol: "auto", step: time.Second, redfish: time.Second, ipmi: 2 * time.Second},
		{protocol: "auto", timeout: time.Minute, long: true, redfish: 2 * time.Minute, ipmi: 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := Config{
				Host: "bmc", User: "user", Password: secret.New("password"), Protocol: test.protocol, Timeout: test.timeout, StepTimeout: test.step,
			}.complete()
			require.NoError(t, err)
			begun := time.Now()
			ctx, cancel := c.begin(t.Context(), test.long)
			defer cancel()
			hangs := func(protocol string) error {
				return step(ctx, &over{name: protocol}, c.StepTimeout, "op", func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}
			if test.redfish > 0 {
				require.ErrorIs(t, hangs("redfish"), verify.Timeout, "%+v", test)
				require.Equal(t, test.redfish, time.Since(begun), "%+v", test)
			}
			if test.ipmi > 0 {
				require.ErrorIs(t, hangs("ipmi"), verify.Timeout, "%+v", test)
				require.Equal(t, test.ipmi, time.Since(begun), "%+v", test)
			}
		})
	}
}
