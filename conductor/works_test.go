// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/states"
)

// TestEveryWorkHasAnEntry fails for a work, or a state of no work, that the conductor does not know.
func TestEveryWorkHasAnEntry(t *testing.T) {
	require.Zero(t, works[states.NoWork].work)
	for w := range states.AllWorks() {
		require.Less(t, int(w), len(works), "conductor/works.go has no entry for %v", w)
		kind := &works[w]
		require.Equal(t, w, kind.work)
		require.NotNil(t, kind.do, "conductor/works.go does not say who does %v", w)
		require.NotEmpty(t, kind.texts.eventType, w)
		require.NotEmpty(t, kind.texts.orphanType, w)
		require.Equal(t, kind.steps.requested != nil, kind.agent.word != "", "%v: a client requests the steps that an agent may execute", w)
		require.Equal(t, kind.agent.word != "", kind.texts.noun != "" && kind.texts.flow != "" && kind.texts.progress != "", w)
		require.Equal(t, w.Waiting() != states.NoState, kind.texts.timedOut != "", "%v: the text of a wait that has timed out", w)
		require.Equal(t, w.Waiting() != states.NoState && w != states.WorkInspect, kind.heartbeats(),
			"%v: a heartbeat ends each wait but that for the data of an inspection", w)
		require.Equal(t, kind.agent.word != "", kind.steps.merges || kind.agent.optionalSince != states.NoSeries,
			"%v: the requested steps are merged, or are all", w)
		require.Equal(t, w == states.WorkVerify, kind.steps.in == nil, "%v: all work but a verification has steps", w)
		if w.Waiting() == states.NoState {
			require.Empty(t, string(kind.agent.word)+kind.texts.inMaintenance, "%v never waits for an agent", w)
		}
	}
	for series := range states.AllSeries() {
		table := series.Table()
		for s := range table.States().All() {
			kind, phase := kindOf(s), table.Phase(s)
			ends := phase == states.PhaseStable || phase == states.PhaseFailed
			require.Equal(t, ends, kind.work == states.NoWork, "%v of %v is the state of no work", s, series)
			require.Equal(t, phase == states.PhaseWorking, runsIn(s), s)
			require.Equal(t, phase == states.PhaseWaiting, kind.waits(&Node{ProvisionState: s}), s)
			require.Equal(t, phase == states.PhaseWorking || phase == states.PhaseWaiting, busy(s.Work()).Has(s), s)
		}
	}
	for _, s := range []states.State{states.NoState, states.Deleted, states.UnknownState} {
		require.Same(t, &works[states.NoWork], kindOf(s))
		require.False(t, runsIn(s), s)
		require.False(t, kindOf(s).waits(&Node{ProvisionState: s}), s)
	}
}

// TestEveryStableStateHasAnEntry fails for a stable state of which nobody has said whether an agent may stay then.
func TestEveryStableStateHasAnEntry(t *testing.T) {
	idle := map[states.State]bool{
		states.Enroll: true, states.Manageable: true, states.Available: true, states.Active: false, states.Rescue: false, states.Error: false,
	}
	for series := range states.AllSeries() {
		for s := range series.Table().Stable().All() {
			require.Contains(t, idle, s, "say in conductor/agent_fasttrack.go whether an agent may stay in %v (idleWithAgent), and here", s)
			require.Equal(t, idle[s], idleWithAgent.Has(s), s)
		}
	}
}

// TestEveryStateOfARefusalHasItsPlace fails for a state that the text of a refusal would leave out.
func TestEveryStateOfARefusalHasItsPlace(t *testing.T) {
	const missing = "conductor/rules_refusal.go has no place for %v in the order of its texts"
	for s := range admission.InterfaceStates().All() {
		require.Contains(t, updateOrder, s, missing, s)
	}
	for s := range (admission.Rules{Table: states.Latest().Table()}).DeleteAllowed().All() {
		require.Contains(t, deleteOrder, s, missing, s)
	}
}

// TestEveryRequestHasAnEntry fails for a request that the conductor does not know: one that begins no work known to it.
func TestEveryRequestHasAnEntry(t *testing.T) {
	others := []states.Event{states.EventProvide, states.EventAbort, states.EventUnhold}
	maintenance := admission.NodeFields{State: states.ServiceFail, Maintenance: true}
	for e := range states.AllEvents() {
		if e.Verb() == "" {
			continue
		}
		kind := begunBy(states.Latest().Table(), e)
		require.Equal(t, slices.Contains(others, e), kind.work == states.NoWork,
			"%v begins no work: say what it is to the conductor (request in conductor/rules_request.go); then here", e)
		if err := (admission.Rules{}).Start(maintenance, e); errors.Is(err, InMaintenance) && e != states.EventAbort {
			require.NotEmpty(t, operation(states.Latest().Table(), e.Verb()),
				"conductor/works.go has no word of Ironic for the operation %v of a request that is refused", e)
		}
		for series := range states.AllSeries() {
			for row := range series.Table().Transitions() {
				if row.Event == e && e != states.EventProvide && series.Table().IsRequest(row) && runsIn(row.To) {
					require.Same(t, kind, begunBy(series.Table(), e), series)
					require.Equal(t, kind.work, row.To.Work(), row)
				}
			}
		}
	}
	require.Empty(t, operation(states.Latest().Table(), "work"))
	require.Empty(t, operation(states.Latest().Table(), states.EventAbort.Verb()))
}

// TestStatesWhoseRulesAreIronics compares what the works say of states with Ironic's own lists.
func TestStatesWhoseRulesAreIronics(t *testing.T) {
	heartbeats := states.SetOf(states.DeployWait, states.CleanWait, states.RescueWait, states.ServiceWait, states.Deploying, states.Cleaning,
		states.Rescuing, states.Servicing, states.DeployHold, states.CleanHold, states.ServiceHold)
	stays := states.SetOf(states.Verifying, states.Cleaning, states.Inspecting, states.InspectWait)
	before := states.SetOf(states.Enroll, states.Manageable, states.Available)
	does := before.Union(states.SetOf(states.Verifying, states.Cleaning, states.Deploying))
	for s := range states.AllStates() {
		require.Equal(t, heartbeats.Has(s), kindOf(s).heartbeats(), s)
		require.Equal(t, stays.Has(s), succeeds(s) && kindOf(s).agent.stays, s)
	}
	for series := range states.AllSeries() {
		for row := range series.Table().Transitions() {
			if series.Table().IsRequest(row) {
				require.Equal(t, before.Has(row.From) && does.Has(row.To), agentStays(row.From, row.To), row)
			}
		}
	}
	limited := map[states.Work]states.Set{
		states.WorkDeploy: states.SetOf(states.Deploying, states.DeployWait),
		states.WorkClean:  states.SetOf(states.Deleting, states.Cleaning, states.CleanWait),
		states.WorkDelete: states.SetOf(states.Deleting, states.Cleaning, states.CleanWait),
	}
	for w := range states.AllWorks() {
		busy, has := limited[w]
		require.Equal(t, has, works[w].request.limit != nil, w)
		if has {
			require.Equal(t, busy, works[w].request.limit.busy, w)
			require.NotEmpty(t, works[w].texts.operation, w)
		}
	}
	passwords := states.SetOf(states.RescueWait, states.RescueFail, states.Rescuing, states.Unrescuing, states.UnrescueFail, states.Rescue)
	require.Equal(t, passwords, works[states.WorkRescue].request.dropIn)
}

func TestTheAgentWritesAnImageInADeploymentAlone(t *testing.T) {
	config := &Config{Table: states.Latest().Table()}
	b, types := &rulebook{config: config}, &hardwareTypes{descriptions: &descriptions{}, config: config}
	types.describe(nil)
	n := &Node{Interfaces: map[string]string{"deploy": "direct"}}
	for w := range states.AllWorks() {
		if works[w].steps.in != nil {
			record := b.sequenceOf(n, &works[w], types.agentUse(&Fake{}, n, &works[w]))
			require.Equal(t, works[w].agent.word != "", record.ByAgent, w)
			require.Equal(t, w == states.WorkDeploy, record.WritesImage, w)
		}
	}
}

func TestAnAdoptionNotesTheTypeOfTheImage(t *testing.T) {
	n := &Node{InstanceInfo: map[string]any{"image_source": "http://images/a.qcow2"}}
	require.NoError(t, begunBy(states.Latest().Table(), states.EventAdopt).remembers(n, &ProvisionRequest{}))
	require.True(t, *n.Deployment.WholeDisk)
	require.Equal(t, "whole-disk", n.InstanceInfo["image_type"])
}

// TestTheLastErrorOfAWaitThatHasTimedOut has each waiting state.
func TestTheLastErrorOfAWaitThatHasTimedOut(t *testing.T) {
	const ramdisk = " the node. Please check if the ramdisk responsible for the "
	step := &Steps{Current: &Step{Interface: "bios", Step: "factory_reset"}}
	for s, want := range map[states.State]string{
		states.DeployWait: "Timeout reached while waiting for callback for node {step}",
		states.RescueWait: "Timeout reached while waiting for rescue ramdisk callback for node",
		states.CleanWait: "Timeout reached while cleaning" + ramdisk + "cleaning is running on the node. Failed on step " +
			"{'interface': 'bios', 'step': 'factory_reset', 'priority': 0}.",
		states.ServiceWait: "Timeout reached while servicing" + ramdisk + "servicing is running on the node. Failed on step {}.",
		states.InspectWait: "Timeout reached while inspecting" + ramdisk + "inspection is running on the node.",
	} {
		n := &Node{UUID: "{step}", ProvisionState: s, CleanSteps: step}
		require.Equal(t, want, timeoutText(n, states.Latest()))
		if s == states.InspectWait {
			want = "timeout reached while inspecting the node"
		}
		require.Equal(t, want, timeoutText(n, states.Flamingo))
	}
}
