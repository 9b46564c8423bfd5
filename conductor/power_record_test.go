// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

func TestTheTimeOfAPowerChangeIsRecordedAndTheAgentOfAMachineThatIsOffForgotten(t *testing.T) {
	const on, off, none = states.PowerOn, states.PowerOff, states.NoPower
	for _, test := range []struct {
		power, target        states.Power // before
		newPower, newTarget  states.Power
		failure              string
		wantTime, wantForget bool
	}{
		{on, none, on, off, "", false, false}, // a request begins
		{on, off, off, none, "", true, true},
		{off, on, on, none, "", true, false},
		{on, off, on, none, "no answer", false, false},
		{off, off, off, none, "", true, true},  // the machine was off already; its agent has booted meanwhile
		{on, none, off, none, "", false, true}, // read by the power sync
		{off, none, off, none, "", false, false},
		{off, none, on, none, "", false, false},
	} {
		n := &Node{Power: test.power, TargetPower: test.target, Agent: AgentInfo{URL: "https://10.0.0.7:9999"}}
		n.setPower(powersync.Record{
			Power: test.newPower, TargetPower: test.newTarget, LastError: test.failure, Maintenance: true, MaintenanceReason: "m", Fault: "f",
		})
		require.Equal(t, []any{test.newPower, test.newTarget, test.failure, true, "m", "f"},
			[]any{n.Power, n.TargetPower, n.LastError, n.Maintenance, n.MaintenanceReason, n.Fault})
		require.Equal(t, test.wantTime, n.PowerChangedAt != nil, "%+v", test)
		require.Equal(t, test.wantForget, n.Agent.URL == "", "%+v", test)
	}
}
