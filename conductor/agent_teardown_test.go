// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// TestATearDownThatFailsIsToldOnce lets the power off fail that ends a cleaning and a service whose steps are done.
func TestATearDownThatFailsIsToldOnce(t *testing.T) {
	for target, test := range map[string]struct {
		from, want states.State
		text       string
	}{
		"clean":   {states.Manageable, states.CleanFail, "Failed to tear down from cleaning for node %s, reason: no answer"},
		"provide": {states.Manageable, states.CleanFail, "Failed to tear down from cleaning for node %s, reason: no answer"},
		"service": {states.Active, states.ServiceFail, "Failed to tear down from service for node %s, reason: no answer"},
	} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, test.from, nil)
				r := m.provision(target)
				step := []conductor.StepRequest{{Interface: "deploy", Step: "burnin_cpu"}}
				r.CleanSteps, r.ServiceSteps = step, step
				require.NoError(t, m.Provision(m.ctx, m.n.UUID, r))
				m.settle(m.n)
				offs := 0
				m.before(func(_ context.Context, _ *conductor.Node, operation string) error {
					if operation != states.PowerOff.String() {
						return nil
					}
					offs++
					return errors.New("no answer")
				})
				n := m.boot()
				for n.ProvisionState == states.CleanWait || n.ProvisionState == states.ServiceWait {
					n = m.end("SUCCEEDED", "")
				}
				m.requireState(n, test.want, fmt.Sprintf(test.text, n.UUID))
				require.Equal(t, 1, offs)
				require.Nil(t, n.CleanUp)
				require.Empty(t, n.Reservation)
				m.requireForgotten(n)
			})
		})
	}
}
