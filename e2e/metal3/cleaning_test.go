// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"context"
	"net/http"
	"testing"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor/agent/agenttest"
	"github.com/ironstate/ironstate/states"
)

// cleaningAction is the operator's reaction to a cleaning when a host is deleted, whose machine is powered off first.
// It is a copy of abortInspectionOrCleaning in pkg/provisioner/ironic/ironic.go for both states of a cleaning, in which
// a manual cleaning is known by the given target provision state.
func cleaningAction(state, target, manual string, mode metal3api.AutomatedCleaningMode) string {
	aborted := target == manual || mode == metal3api.CleaningModeDisabled
	switch {
	case state == states.CleanWait.String() && aborted:
		return "abort"
	case state == states.CleanWait.String():
		return "let it finish"
	case aborted:
		return "abort it when it waits"
	default:
		return "let it finish"
	}
}

// A manual cleaning has the target manageable. v0.13.2 of the operator compares the target with "clean", the word of
// the request, so that it waits for the end of a manual cleaning unless automated cleaning is disabled. With the
// state's word it aborts it. If this test fails after an update, the operator is mended: then the copy is superfluous.
func TestManualCleaningIsNotAbortedWhenItsHostIsDeleted(t *testing.T) {
	var s *site
	started := make(chan struct{}, 1)
	hang := agenttest.Step{Work: "clean", Interface: "raid", Name: "delete_configuration", Abortable: true,
		Run: func(ctx context.Context, _ map[string]any) (any, error) {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	pass := agenttest.Step{Work: "clean", Interface: "raid", Name: "create_configuration",
		Run: func(context.Context, map[string]any) (any, error) { return nil, nil }}
	s = start(t, hang, pass)
	s.cleaning = metal3api.CleaningModeMetadata
	require.Empty(t, s.register(false))
	unprepared := true
	for running := false; !running; {
		_, begun, err := s.provisioner().Prepare(t.Context(), provisioner.PrepareData{TargetRAIDConfig: &metal3api.RAIDConfig{
			SoftwareRAIDVolumes: []metal3api.SoftwareRAIDVolume{{Level: "1"}},
		}}, unprepared, false)
		require.NoError(t, err)
		unprepared = unprepared && !begun
		select {
		case <-started:
			running = true
		default:
		}
	}
	s.await(func() bool { return s.node()["provision_state"] == states.CleanWait.String() })
	powerOff := func(mode metal3api.AutomatedCleaningMode) provisioner.Result {
		result, err := s.provisioner().PowerOff(t.Context(), metal3api.RebootModeHard, true, mode)
		require.NoError(t, err)
		return result
	}
	for range 3 {
		result := powerOff(s.cleaning)
		require.True(t, result.Dirty)
		require.NotZero(t, result.RequeueAfter)
		s.requireState(states.CleanWait)
	}
	n := s.node()
	state, target := n["provision_state"].(string), n["target_provision_state"].(string)
	require.Equal(t, states.Manageable.String(), target)
	require.Equal(t, "let it finish", cleaningAction(state, target, "clean", s.cleaning), "as the operator does")
	corrected := cleaningAction(state, target, states.Manageable.String(), s.cleaning)
	require.Equal(t, "abort", corrected)
	require.Equal(t, "abort it when it waits", cleaningAction(states.Cleaning.String(), target, states.Manageable.String(), s.cleaning))

	// The service takes the abort, which powers the machine off, so that the host can be deleted.
	status, answer := s.request(http.MethodPut, "/v1/nodes/"+s.nodeName()+"/states/provision", map[string]any{"target": corrected})
	require.Equal(t, http.StatusAccepted, status, answer)
	s.await(func() bool {
		n = s.node()
		return n["provision_state"] == states.CleanFail.String() && n["reservation"] == nil
	})
	require.Equal(t, states.Manageable.String(), n["target_provision_state"])
	require.Empty(t, s.until(func(p provisioner.Provisioner) (provisioner.Result, error) {
		return p.PowerOff(t.Context(), metal3api.RebootModeHard, true, s.cleaning)
	}))
	require.Equal(t, "Off", s.bmc.Power("1"))
	require.Empty(t, s.delete())
	require.Nil(t, s.node())
}
