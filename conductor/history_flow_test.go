// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// TestTheHistoryTellsWhichStepsWorkExecutes has the texts that a real Ironic 39.0.0 with fake-hardware gives.
func TestTheHistoryTellsWhichStepsWorkExecutes(t *testing.T) {
	const (
		automatic = "{'step': 'log_passthrough', 'priority': 1, 'abortable': False, 'argsinfo': None, " +
			"'interface': 'vendor', 'requires_ramdisk': True}"
		requested = "{'interface': 'bios', 'step': 'cache_bios_settings', 'abortable': False, 'priority': 0}"
		deploy    = "[{'step': 'deploy', 'priority': 100, 'abortable': True, 'argsinfo': None, 'interface': 'deploy'}]"
	)
	cleaned := func(kind string) []string {
		title := map[string]string{"manual": "Manual", "automated": "Automated"}[kind]
		step := map[string]string{"manual": requested, "automated": automatic}[kind]
		return []string{
			"INFO " + kind + "_cleaning_start: Starting " + kind + " cleaning with steps=[" + step + "]",
			"INFO " + kind + "_cleaning_end: " + title + " Cleaning completed successfully with steps=[]",
		}
	}
	deployed := []string{"INFO deployment_start: Starting deployment with steps=" + deploy}
	for name, test := range map[string]struct {
		in     states.State
		do     string
		during func(operation string) error
		resume bool
		want   []string
	}{
		"a deployment": {states.Available, "active", nil, false,
			append(deployed, "INFO deployment_end: Deployment completed successfully with steps="+deploy)},
		"a deployment that fails": {states.Available, "active", fails("deploy."), false,
			append(deployed, "ERROR deployment_end: Deployment aborted at step 'deploy' with steps="+deploy,
				"ERROR deploying: Deploy step deploy.deploy failed: no answer.")},
		"a deployment that waits": {states.Available, "active", waits, true,
			append(deployed, "INFO deployment_end: Deployment completed successfully with steps="+deploy)},
		"a manual cleaning": {states.Manageable, "clean", nil, false, cleaned("manual")},
		"a manual cleaning that fails": {states.Manageable, "clean", fails("bios."), false, []string{
			cleaned("manual")[0], "ERROR manual_cleaning_end: Manual Cleaning aborted at step 'cache_bios_settings' with steps=[" + requested + "]",
			"ERROR cleaning: Node UUID failed step {'interface': 'bios', 'step': 'cache_bios_settings', 'abortable': False, " +
				"'priority': 0}: no answer",
		}},
		"an automated cleaning": {states.Manageable, "provide", nil, false, cleaned("automated")},
		"a service": {states.Active, "service", nil, false, []string{
			"INFO servicing_start: Starting servicing with steps=[" + requested + "]",
			"INFO servicing_end: Servicing completed successfully with steps=[]",
		}},
		"an inspection": {states.Manageable, "inspect", nil, false, nil},
		"a rescue":      {states.Active, "rescue", nil, false, nil},
	} {
		for _, series := range []states.Series{states.Epoxy, states.Flamingo, states.Latest()} {
			t.Run(name+", "+series.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, func(c *conductor.Config) { c.SkipPowerSync, c.Table, c.MaxTransitions = true, series.Table(), 1 })
					n := f.node(test.in)
					f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
						if test.during == nil {
							return nil
						}
						return test.during(operation)
					})
					f.request(n, test.do)
					f.settle(n)
					if test.resume {
						require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
						f.settle(n)
					}
					want := test.want
					if series < states.Flamingo {
						want = nil
						for _, entry := range test.want {
							if !strings.Contains(entry, "_start: ") && !strings.Contains(entry, "_end: ") {
								want = append(want, entry)
							}
						}
					}
					want = slices.Clone(want)
					for i := range want {
						if series < states.Gazpacho && test.do == "active" { // no deployment can be aborted
							want[i] = strings.ReplaceAll(want[i], "'abortable': True, ", "")
						}
					}
					require.Equal(t, want, f.texts(n))
				})
			})
		}
	}
}

// texts returns the severity, the event type and the event of each entry of a node's history, with UUID for the node's.
func (f *fleet) texts(n *conductor.Node) (texts []string) {
	all, err := f.History(f.ctx, n.UUID)
	require.NoError(f.t, err)
	for _, entry := range all {
		texts = append(texts, entry.Severity+" "+entry.EventType+": "+strings.ReplaceAll(entry.Event, n.UUID, "UUID"))
	}
	return texts
}

func TestTheHistoryTellsTheStateInWhichStepsAreExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Available)
		f.request(n, "active")
		f.settle(n)
		all, err := f.History(f.ctx, n.UUID)
		require.NoError(t, err)
		require.Len(t, all, 2)
		for _, entry := range all {
			require.Equal(t, states.Deploying, entry.State)
			require.Equal(t, states.Active, entry.TargetProvisionState)
			require.Zero(t, *entry.DurationSeconds)
		}
	})
}

func TestAnAutomatedCleaningThatIsSkippedHasNoStepsInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *conductor.Config) { c.SkipAutomatedClean = true })
		n := f.node(states.Manageable)
		f.request(n, "provide")
		require.Equal(t, states.Available, f.settle(n).ProvisionState)
		require.Empty(t, f.texts(n))
	})
}

// SECURITY.md: Errors, histories and answers mask the passwords in the arguments of steps, also of BIOS settings that
// are named like a secret.
func TestSecretsOfStepsAreMaskedInTheHistoryAndInErrors(t *testing.T) {
	password := map[string]any{"name": "AdminPassword", "value": "xyzzy"}
	for shown, request := range map[string]conductor.StepRequest{
		"'args': {'password': '******'}": {Interface: "raid", Step: "create_configuration", Args: map[string]any{"password": "xyzzy"}},
		"'args': {'settings': [{'name': 'AdminPassword', 'value': '******'}]}": {
			Interface: "bios", Step: "apply_configuration", Args: map[string]any{"settings": []any{password}},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			f.before(failing("bios.apply_configuration"))
			n := f.node(states.Manageable)
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{request}
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			n = f.settle(n)
			require.Contains(t, n.LastError, shown)
			require.NotContains(t, n.LastError, "xyzzy")
			texts := strings.Join(f.texts(n), "\n")
			require.Contains(t, texts, shown)
			require.NotContains(t, texts, "xyzzy")
		})
	}
}

// A service that cannot be planned without the agent's steps has the steps of the request in its entry.
func TestAServiceTellsTheRequestedStepsBeforeItsAgentIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		n := f.node(states.Active)
		r := f.provision("service")
		r.ServiceSteps[0].Step = "of_the_agent"
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		f.settle(n)
		require.Equal(t, []string{
			"INFO servicing_start: Starting servicing with steps=[{'interface': 'bios', 'step': 'of_the_agent'}]",
			"ERROR servicing: Cannot service node UUID: node does not support this service step: {'interface': 'bios', 'step': 'of_the_agent'}",
		}, f.texts(n))
	})
}

func TestTheHistoryHasTheStepsAsTheAgentListsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMachine(t, states.Available, func(c *conductor.Config) { c.Table = states.Latest().Table() })
		m.set(func(a *agentProgram) { a.steps["deploy"] = append(a.steps["deploy"], step("burnin_cpu", 90)) })
		m.request(m.n, "active")
		m.settle(m.n)
		m.boot()
		m.end("SUCCEEDED", "")
		m.end("SUCCEEDED", "")
		bubble.Sleep(time.Minute) // fake-hardware does not go off by itself
		m.requireState(m.settle(m.n), states.Active, "")
		require.Contains(t, strings.Join(m.texts(m.n), "\n"), "Deployment completed successfully with steps=["+
			"{'step': 'deploy', 'priority': 100, 'abortable': True, 'argsinfo': None, 'interface': 'deploy'}, "+
			"{'step': 'burnin_cpu', 'priority': 90, 'interface': 'deploy', 'reboot_requested': False, 'abortable': True}, ")
	})
}
