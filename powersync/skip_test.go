// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package powersync_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// excluded is Ironic's SYNC_EXCLUDED_STATES.
var excluded = states.SetOf(states.Enroll, states.DeployWait, states.CleanWait, states.AdoptFail)

func TestASyncRoundSkipsTheExcludedStatesAndBusyNodes(t *testing.T) {
	for s := range states.AllStates() {
		skip := powersync.SkipSync(powersync.Record{ProvisionState: s})
		require.Equal(t, excluded.Has(s), skip != "", "%v", s)
	}
	busy := powersync.Record{ProvisionState: states.Active, Maintenance: true, TargetPower: isOn, Reservation: "x"}
	require.Equal(t, powersync.SkippedMaintenance, powersync.SkipSync(busy))
	busy.Maintenance = false
	require.Equal(t, powersync.SkippedTarget, powersync.SkipSync(busy))
	busy.TargetPower = unknown
	require.Equal(t, powersync.SkippedReservation, powersync.SkipSync(busy))
}

func TestARecoveryRoundSkipsAllButFreeNodesWithAPowerFailure(t *testing.T) {
	for s := range states.AllStates() {
		r := powerFailure(isOn)
		r.ProvisionState = s
		require.Equal(t, s == states.Enroll, powersync.SkipRecovery(r) != "", "%v", s)
	}
	r := powerFailure(isOn)
	r.TargetPower, r.Reservation = isOn, "x"
	require.Equal(t, powersync.SkippedTarget, powersync.SkipRecovery(r))
	r.TargetPower = unknown
	require.Equal(t, powersync.SkippedReservation, powersync.SkipRecovery(r))
	r.Fault = "clean failure"
	require.Equal(t, powersync.SkippedNoPowerFailure, powersync.SkipRecovery(r))
	require.Equal(t, powersync.SkippedNoPowerFailure, powersync.SkipRecovery(node(isOn)))
}
