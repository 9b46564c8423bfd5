// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

func TestTheRecordOfANodeWhoseWorkHasFailed(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	step := func() *Steps { return &Steps{Current: &Step{Interface: "bios", Step: "factory_reset"}, Begun: 1} }
	for name, test := range map[string]struct {
		node          Node
		to            states.State
		fault, reason string
		rescue        bool // the rescue password stays
	}{
		"a clean step": {
			Node{ProvisionState: states.Cleaning, CleanSteps: step()},
			states.CleanFail, "clean failure", "no answer", true,
		},
		"a cleaning before steps": {Node{ProvisionState: states.Cleaning}, states.CleanFail, "", "", true},
		"a service step": {
			Node{ProvisionState: states.ServiceWait, ServiceSteps: step()},
			states.ServiceFail, "service failure", "no answer", true,
		},
		"a clean step in maintenance": {
			Node{ProvisionState: states.Cleaning, CleanSteps: step(), Maintenance: true, MaintenanceReason: "mine"},
			states.CleanFail, "clean failure", "mine", true,
		},
		"a deploy step":          {Node{ProvisionState: states.Deploying, DeploySteps: step()}, states.DeployFail, "", "", true},
		"an adoption":            {Node{ProvisionState: states.Adopting}, states.AdoptFail, "", "", true},
		"a rescue":               {Node{ProvisionState: states.Rescuing}, states.RescueFail, "", "", false},
		"a rescue that waits":    {Node{ProvisionState: states.RescueWait}, states.RescueFail, "", "", false},
		"the return from rescue": {Node{ProvisionState: states.Unrescuing}, states.UnrescueFail, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			n := test.node.Clone()
			n.Power = states.PowerOn
			n.InstanceInfo = map[string]any{"rescue_password": "x", "hashed_rescue_password": "y"}
			n.Agent.URL = "https://10.0.0.7:9999"
			failure := workFailure{text: "no answer", ramdisk: c.engine.bootsRamdisk(t.Context(), n)}
			require.NoError(t, c.rules.fail(n, failure, now()))
			require.Equal(t, test.to, n.ProvisionState)
			require.Equal(t, "no answer", n.LastError)
			require.Equal(t, []any{test.fault != "" || test.node.Maintenance, test.fault, test.reason},
				[]any{n.Maintenance, n.Fault, n.MaintenanceReason})
			require.Equal(t, test.node.ProvisionState == states.Adopting, n.Power == states.NoPower)
			require.Equal(t, test.rescue, n.InstanceInfo["rescue_password"] != nil)
			require.Empty(t, n.Agent.URL)
			if test.node.CleanSteps != nil {
				require.Equal(t, Steps{}, *n.CleanSteps)
			}
		})
	}
}

func TestTheRecordOfANodeWhoseWorkWasAbortedAfterAStep(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	for work, test := range map[states.State]struct {
		to      states.State
		cleanUp CleanUp
	}{
		states.Cleaning:  {states.CleanFail, CleanUp{PowerOff: true, Ramdisk: true}},
		states.Servicing: {states.ServiceFail, CleanUp{PowerOff: true, Ramdisk: true, Instance: true}},
		states.Deploying: {states.DeployFail, CleanUp{Ramdisk: true, AbortedDeployment: true}}, // the machine stays on
	} {
		n := &Node{Driver: "fake-hardware", ProvisionState: work, Interfaces: map[string]string{"deploy": "direct"}}
		step := Step{Interface: "bios", Step: "factory_reset"}
		*kindOf(work).steps.in(n) = &Steps{
			Requested: []StepRequest{{Interface: "bios", Step: "factory_reset"}}, Planned: []Step{step, step},
			Begun: 1, Current: &step, AbortAfter: true,
		}
		require.NoError(t, c.rules.end(n, failedWith(&abortError{work.Work(), step.String()}), ramdiskBoots, now()))
		require.Equal(t, test.to, n.ProvisionState)
		require.Equal(t, &test.cleanUp, n.CleanUp, work)
		require.Equal(t, Steps{}, **kindOf(work).steps.in(n), work)
		require.False(t, n.Maintenance, work)
	}
}

func TestACleaningThatWasAbortedAfterAStepDoesNotPowerTheMachineOff(t *testing.T) {
	c, err := New(Config{
		Store: &Memory{}, Hardware: map[string]Hardware{"plain": struct{ Hardware }{&Fake{}}}, PowerOffInCleanFail: true,
	})
	require.NoError(t, err)
	for failure, want := range map[error]*CleanUp{
		errors.New("it failed"): {PowerOff: true}, &abortError{states.WorkClean, "bios.factory_reset"}: nil,
	} {
		n := &Node{Driver: "plain", ProvisionState: states.Cleaning, CleanSteps: &Steps{Current: &Step{Interface: "bios", Step: "factory_reset"}}}
		require.NoError(t, c.rules.end(n, failedWith(failure), noRamdisk, now()))
		require.Equal(t, states.CleanFail, n.ProvisionState)
		require.Equal(t, want, n.CleanUp, failure)
	}
}

func TestACopyOfANodeSharesNoSteps(t *testing.T) {
	steps := func() *Steps {
		return &Steps{Current: &Step{Priority: 1}, Requested: []StepRequest{{Step: "a"}}, Planned: []Step{{Step: "a"}}, Begun: 1}
	}
	n := &Node{CleanSteps: steps()}
	c := n.Clone()
	require.Equal(t, n, c)
	c.CleanSteps.Current.Priority, c.CleanSteps.Requested[0].Step, c.CleanSteps.Planned[0].Step, c.CleanSteps.Begun = 2, "b", "b", 2
	require.Equal(t, steps(), n.CleanSteps)
}

// TestOnlyWorkThatWaitedContinuesWithItsNextStep moves a node between each pair of states, with steps of an earlier
// work of the new state's kind.
func TestOnlyWorkThatWaitedContinuesWithItsNextStep(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"fake-hardware": &Fake{}}})
	require.NoError(t, err)
	waited := map[states.State]states.Set{
		states.Cleaning: states.SetOf(states.CleanWait, states.CleanHold), states.Deploying: states.SetOf(states.DeployWait, states.DeployHold),
		states.Servicing: states.SetOf(states.ServiceWait, states.ServiceHold), states.Inspecting: states.SetOf(states.InspectWait),
		states.Rescuing: states.SetOf(states.RescueWait),
	}
	moves, yes := 0, true
	for row := range c.config.Table.Transitions() {
		if !runsIn(row.To) || row.To == states.Verifying {
			continue
		}
		n := &Node{ProvisionState: row.From}
		earlier := Steps{
			Requested: []StepRequest{{Step: "a"}}, Planned: []Step{{Step: "a"}}, DisableRamdisk: &yes,
			Begun: 1, Current: &Step{Step: "a"}, Prepared: true, Sent: true, Rebooted: true, Validated: true, AbortAfter: true,
		}
		require.NotNil(t, kindOf(row.To).steps.in, "conductor/works.go has no entry with the steps of the work of %v", row.To)
		*kindOf(row.To).steps.in(n) = earlier.clone()
		c.rules.move(n, row.Event, machine.Node{State: row.To}, now())
		want := earlier
		if !waited[row.To].Has(row.From) {
			want = Steps{Requested: earlier.Requested, Planned: earlier.Planned, DisableRamdisk: &yes}
		}
		require.Equal(t, want, kindOf(row.To).of(n), "%v to %v", row.From, row.To)
		moves++
	}
	require.Greater(t, moves, 20)
}

// The hash takes long, and a write may be repeated.
func TestARescuePasswordIsHashedOnceForAllAttemptsToStoreIt(t *testing.T) {
	task, _, _ := working(t)
	hashes, hash := 0, hashPassword
	hashPassword = func(password []byte) ([]byte, error) { hashes++; return hash(password) }
	t.Cleanup(func() { hashPassword = hash })
	n := &Node{UUID: "00000000-0000-4000-8000-000000000001", Driver: "fake-hardware", ProvisionState: states.Active}
	request := ProvisionRequest{Target: "rescue", Version: states.Latest().MaxAPIVersion(), RescuePassword: "xyzzy"}
	change, err := task.engine.accept(t.Context(), n, request)
	require.NoError(t, err)
	for range 3 {
		stored := n.Clone()
		require.NoError(t, change(stored))
		require.Equal(t, "a hash", stored.InstanceInfo["hashed_rescue_password"])
	}
	require.Equal(t, 1, hashes)
}
