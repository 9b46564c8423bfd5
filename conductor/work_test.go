// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/bubble"
	"github.com/ironstate/ironstate/states"
)

// failing makes an operation of fake-hardware fail.
func failing(operation string) func(context.Context, *conductor.Node, string) error {
	return func(_ context.Context, _ *conductor.Node, did string) error {
		if did == operation {
			return errors.New("no route to host")
		}
		return nil
	}
}

func TestWorkThatFails(t *testing.T) {
	tests := []struct {
		from, to  states.State
		target    string
		operation string
		text      string
		fault     string
	}{
		{states.Enroll, states.Enroll, "manage", "verify", "verification of node %s failed: no route to host", ""},
		{states.Manageable, states.InspectFail, "inspect", "inspect.inspect_hardware", "no route to host", ""},
		{states.Available, states.DeployFail, "active", "deploy.deploy", "Deploy step deploy.deploy failed: no route to host.", ""},
		{states.Active, states.Error, "deleted", "deploy.tear_down", "step deploy.tear_down failed: no route to host", ""},
		{states.Active, states.RescueFail, "rescue", "rescue.rescue", "step rescue.rescue failed: no route to host", ""},
		{states.Rescue, states.UnrescueFail, "unrescue", "rescue.unrescue", "step rescue.unrescue failed: no route to host", ""},
		{states.Manageable, states.AdoptFail, "adopt", "deploy.take_over", "step deploy.take_over failed: no route to host", ""},
		{
			states.Manageable, states.CleanFail, "clean", "bios.cache_bios_settings",
			"Node %s failed step {'interface': 'bios', 'step': 'cache_bios_settings', 'abortable': False, 'priority': 0}: no route to host",
			"clean failure",
		},
		{
			states.Active, states.ServiceFail, "service", "bios.cache_bios_settings",
			"Node %s failed step {'interface': 'bios', 'step': 'cache_bios_settings', 'abortable': False, 'priority': 0}: no route to host",
			"service failure",
		},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			f.before(failing(test.operation))
			n := f.node(test.from)
			f.request(n, test.target)
			got := f.settle(n)
			text := strings.ReplaceAll(test.text, "%s", n.UUID)
			require.Equal(t, test.to, got.ProvisionState, test.target)
			require.Equal(t, text, got.LastError)
			require.Equal(t, test.fault, got.Fault)
			require.Equal(t, test.fault != "", got.Maintenance)
			require.Empty(t, got.Reservation)
			for _, steps := range []*conductor.Steps{got.CleanSteps, got.DeploySteps, got.ServiceSteps} {
				require.True(t, steps == nil || steps.Current == nil)
			}

			history, err := f.History(f.ctx, n.UUID)
			require.NoError(t, err)
			require.Len(t, f.entries(n), 1)
			require.Equal(t, text, history[len(history)-1].Event)
		})
	}
}

func TestAStepThatPanicsHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(func(context.Context, *conductor.Node, string) error { panic("secret") })
		n := f.node(states.Available)
		f.request(n, "active")
		got := f.settle(n)
		require.Equal(t, states.DeployFail, got.ProvisionState)
		require.NotContains(t, got.LastError, "secret")
	})
}

// waiting makes an operation of fake-hardware wait for a call-back.
func waiting(operation string) func(context.Context, *conductor.Node, string) error {
	return func(_ context.Context, _ *conductor.Node, did string) error {
		if did == operation {
			return conductor.ErrWait
		}
		return nil
	}
}

func TestWaitingWorkContinuesAfterItsCallBack(t *testing.T) {
	tests := []struct {
		from, wait, to states.State
		target         string
		operation      string
		late           string // the last error after a timeout
	}{
		{
			states.Manageable, states.InspectWait, states.Manageable, "inspect", "inspect.inspect_hardware",
			"Timeout reached while inspecting the node. Please check if the ramdisk " +
				"responsible for the inspection is running on the node.",
		},
		{states.Available, states.DeployWait, states.Active, "active", "deploy.deploy", "Timeout reached while waiting for callback for node %s"},
		{
			states.Active, states.RescueWait, states.Rescue, "rescue", "rescue.rescue",
			"Timeout reached while waiting for rescue ramdisk callback for node",
		},
		{
			states.Manageable, states.CleanWait, states.Manageable, "clean", "bios.cache_bios_settings",
			"Timeout reached while cleaning the node. Please check if the ramdisk " +
				"responsible for the cleaning is running on the node. " +
				"Failed on step {'interface': 'bios', 'step': 'cache_bios_settings', 'priority': 0}.",
		},
		{
			states.Active, states.ServiceWait, states.Active, "service", "bios.cache_bios_settings",
			"Timeout reached while servicing the node. Please check if the ramdisk " +
				"responsible for the servicing is running on the node. " +
				"Failed on step {'interface': 'bios', 'step': 'cache_bios_settings', 'priority': 0}.",
		},
	}
	for _, test := range tests {
		t.Run(test.target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, nil)
				f.before(waiting(test.operation))
				n := f.node(test.from)
				f.request(n, test.target)
				got := f.settle(n)
				require.Equal(t, test.wait, got.ProvisionState, got.LastError)
				require.Empty(t, got.Reservation, "a node that waits is not reserved")

				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
				got = f.settle(n)
				require.Equal(t, test.to, got.ProvisionState, got.LastError)
				require.Equal(t, states.NoState, got.TargetProvisionState)
				require.ErrorIs(t, f.Resume(f.ctx, n.UUID, nil), conductor.NotAllowed)
				require.True(t, got.OtherSteps == nil || got.OtherSteps.Begun == 0, "the next work begins with its first step")
			})
			synctest.Test(t, func(t *testing.T) { // without a call-back
				f := start(t, nil)
				f.before(waiting(test.operation))
				n := f.node(test.from)
				f.request(n, test.target)
				bubble.Sleep(29 * time.Minute)
				require.Equal(t, test.wait, f.settle(n).ProvisionState)
				bubble.Sleep(3 * time.Minute)
				got := f.settle(n)
				require.True(t, f.Table().Failed().Has(got.ProvisionState), "%v", got.ProvisionState)
				require.Equal(t, strings.ReplaceAll(test.late, "%s", n.UUID), got.LastError)
			})
		})
	}
}

func TestATimeoutOfAnInspectionHasOtherWordsSince2026_1(t *testing.T) {
	for series, want := range map[states.Series]string{
		states.Flamingo: "timeout reached while inspecting the node",
		states.Gazpacho: "Timeout reached while inspecting the node. Please check if the ramdisk responsible for the " +
			"inspection is running on the node.",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, func(c *conductor.Config) { c.Table = series.Table() })
			f.before(waiting("inspect.inspect_hardware"))
			n := f.node(states.Manageable)
			f.request(n, "inspect")
			bubble.Sleep(32 * time.Minute)
			require.Equal(t, want, f.settle(n).LastError, "%v", series)
		})
	}
}

// SECURITY.md: A lookup gives the token to the first agent that asks, and a heartbeat without the token is refused.
func TestAHeartbeatOfTheAgentContinuesTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(waiting("deploy.deploy"))
		n := f.node(states.Available)
		_, err := f.CreateObject(f.ctx, &conductor.Port{ObjectMeta: conductor.ObjectMeta{NodeUUID: n.UUID}, Address: "52:54:00:12:34:56"})
		require.NoError(t, err)
		_, _, err = f.Lookup(f.ctx, agentAt, []string{"52:54:00:12:34:56"}, "")
		require.ErrorIs(t, err, conductor.NotFound, "an agent has no business on an available node")

		f.request(n, "active")
		synctest.Wait()
		nobody := conductor.Heartbeat{From: agentAt, CallbackURL: "https://10.0.0.8:9999", AgentVersion: "9.1"}
		require.ErrorIs(t, f.Heartbeat(f.ctx, n.UUID, nobody), conductor.Invalid, "no token was given out")
		found, token, err := f.Lookup(f.ctx, agentAt, []string{"52:54:00:12:34:56"}, "")
		require.NoError(t, err)
		require.Equal(t, n.UUID, found.UUID)
		require.NotEmpty(t, token)
		_, again, err := f.Lookup(f.ctx, agentAt, nil, n.UUID)
		require.NoError(t, err)
		require.Empty(t, again, "the token is disclosed only once")

		beat := conductor.Heartbeat{From: agentAt, CallbackURL: "https://10.0.0.7:9999", AgentVersion: "9.1", AgentToken: "wrong"}
		require.ErrorIs(t, f.Heartbeat(f.ctx, n.UUID, beat), conductor.Invalid)
		require.Equal(t, states.DeployWait, f.settle(n).ProvisionState)
		beat.AgentToken = token
		require.NoError(t, f.Heartbeat(f.ctx, n.UUID, beat))
		require.Equal(t, states.Active, f.settle(n).ProvisionState)
	})
}

func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a step that cannot be aborted ends first
		f := start(t, nil)
		f.before(waiting("bios.cache_bios_settings"))
		n := f.node(states.Manageable)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Interface: "bios", Step: "cache_bios_settings"}, {Interface: "bios", Step: "factory_reset"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		synctest.Wait()
		f.request(n, "abort")
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState)
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Contains(t, got.LastError,
			`By request, the clean operation was aborted during or after the completion of step "bios.cache_bios_settings"`)
		require.False(t, got.Maintenance)
		require.Equal(t, states.Manageable, got.TargetProvisionState)
	})
	synctest.Test(t, func(t *testing.T) { // a built-in step can be aborted
		f := start(t, nil)
		n := f.node(states.Manageable)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{{Step: "hold"}}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		require.Equal(t, states.CleanHold, f.settle(n).ProvisionState)
		f.request(n, "abort")
		got := f.settle(n)
		require.Equal(t, states.CleanFail, got.ProvisionState)
		require.Equal(t, `By request, the clean operation was aborted during or after the completion of step "hold"`, got.LastError)
		require.Equal(t, &conductor.Steps{}, got.CleanSteps)
	})
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(waiting("rescue.rescue"))
		n := f.node(states.Active)
		f.request(n, "rescue")
		require.Equal(t, "xyzzy", f.settle(n).InstanceInfo["rescue_password"])
		require.NotEmpty(t, f.settle(n).InstanceInfo["hashed_rescue_password"])
		f.request(n, "abort")
		got := f.settle(n)
		require.Equal(t, states.RescueFail, got.ProvisionState)
		require.NotContains(t, got.InstanceInfo, "rescue_password")
	})
}

func TestATearDownForgetsTheRescueThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		f.before(waiting("rescue.rescue"))
		n := f.node(states.Active)
		f.request(n, "rescue")
		require.Equal(t, states.RescueWait, f.settle(n).ProvisionState)
		f.request(n, "deleted")
		got := f.settle(n)
		require.Equal(t, states.Available, got.ProvisionState, got.LastError)
		require.NotContains(t, got.InstanceInfo, "rescue_password")
	})
}

func TestAHeldCleaningContinuesAfterUnhold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		var did []string
		f.before(func(_ context.Context, n *conductor.Node, operation string) error {
			if operation == "read power" {
				return nil // a round of the power sync
			}
			did = append(did, operation+" at "+n.Step().Step)
			return nil
		})
		n := f.node(states.Manageable)
		r := f.provision("clean")
		r.CleanSteps = []conductor.StepRequest{
			{Interface: "bios", Step: "cache_bios_settings"}, {Step: "hold"}, {Step: "power_on"},
			{Step: "wait", Args: map[string]any{"seconds": 30}}, {Interface: "bios", Step: "factory_reset"},
		}
		require.NoError(t, f.Provision(f.ctx, n.UUID, r))
		held := f.settle(n)
		require.Equal(t, states.CleanHold, held.ProvisionState)
		require.Equal(t, "hold", held.Step().Step)
		f.request(n, "unhold")
		require.Equal(t, states.CleanWait, f.settle(n).ProvisionState, "until the agent calls")
		require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
		bubble.Sleep(20 * time.Second)
		require.Equal(t, "wait", f.settle(n).Step().Step)
		bubble.Sleep(20 * time.Second)
		got := f.settle(n)
		require.Equal(t, states.Manageable, got.ProvisionState, got.LastError)
		require.Equal(t, states.PowerOn, got.Power)
		require.Equal(t, []string{
			"bios.cache_bios_settings at cache_bios_settings", "power on at power_on", "bios.factory_reset at factory_reset",
		}, did)
	})
}

func TestAStepWaitsNoLongerThanIronicPermits(t *testing.T) {
	const longest = 30 * time.Second
	for seconds, want := range map[float64]time.Duration{-5: 0, 0: 0, 1.5: 1500 * time.Millisecond, 31: longest, 1e12: longest} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, nil)
			var ended time.Time
			f.before(func(_ context.Context, _ *conductor.Node, operation string) error {
				if operation == "bios.factory_reset" {
					ended = time.Now()
				}
				return nil
			})
			n := f.node(states.Manageable)
			r := f.provision("clean")
			r.CleanSteps = []conductor.StepRequest{
				{Step: "wait", Args: map[string]any{"seconds": seconds}}, {Interface: "bios", Step: "factory_reset"},
			}
			began := time.Now()
			require.NoError(t, f.Provision(f.ctx, n.UUID, r))
			bubble.Sleep(time.Minute)
			require.Equal(t, states.Manageable, f.settle(n).ProvisionState)
			require.Equal(t, want, ended.Sub(began), seconds)
		})
	}
}
