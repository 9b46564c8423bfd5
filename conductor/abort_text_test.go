// SPDX-License-Identifier: Apache-2.0

package conductor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// staying is hardware whose every work has one step, deploy.stay, which waits.
type staying struct {
	*conductor.Fake
	abortable bool
}

func (h staying) Steps(*conductor.Node, states.Work) []conductor.Step {
	waits := func(context.Context, *conductor.Task) error { return conductor.ErrWait }
	return []conductor.Step{{Interface: "deploy", Step: "stay", Priority: 10, Abortable: h.abortable, Run: waits}}
}

// stays returns a node whose work waits in deploy.stay.
func stays(t *testing.T, series states.Series, from states.State, target string, abortable bool) (*fleet, *conductor.Node) {
	f := start(t, func(c *conductor.Config) {
		c.SkipPowerSync, c.Table = true, series.Table()
		c.Hardware["fake-hardware"] = staying{&conductor.Fake{}, abortable}
	})
	n, r := f.node(from), f.provision(target)
	r.CleanSteps = []conductor.StepRequest{{Interface: "deploy", Step: "stay"}}
	r.ServiceSteps = r.CleanSteps
	require.NoError(t, f.Provision(f.ctx, n.UUID, r))
	return f, f.settle(n)
}

const afterStay = ` during or after the completion of step "deploy.stay"`

func TestTheLastErrorOfAnAbortIsOneText(t *testing.T) {
	for _, test := range []struct {
		from        states.State
		target      string
		waits, want states.State
		text        string
	}{
		{states.Manageable, "clean", states.CleanWait, states.CleanFail, "By request, the clean operation was aborted" + afterStay},
		{states.Manageable, "provide", states.CleanWait, states.CleanFail, "By request, the clean operation was aborted" + afterStay},
		{states.Manageable, "inspect", states.InspectWait, states.InspectFail, "Inspection was aborted by request."},
		{states.Available, "active", states.DeployWait, states.DeployFail, "By request, the deploy operation was aborted" + afterStay},
		{states.Active, "rescue", states.RescueWait, states.RescueFail, ""},
		{states.Active, "service", states.ServiceWait, states.Active, "By request, the service operation was aborted" + afterStay},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, n := stays(t, states.Latest(), test.from, test.target, true)
			require.Equal(t, test.waits, n.ProvisionState, test.target)
			f.request(n, "abort")
			got := f.settle(n)
			require.Equal(t, test.want, got.ProvisionState, test.target)
			require.Equal(t, test.text, got.LastError, test.target)
		})
	}
}

// Since 2026.1 an abort always aborts; before, work had succeeded whose last step was done. Before 2025.2 a service is
// aborted in its step, also if that step cannot be aborted.
func TestAnAbortAtTheLastStepOfEachWorkInEachSeries(t *testing.T) {
	for series := range states.AllSeries() {
		for _, test := range []struct {
			from          states.State
			target        string
			waits         states.State
			failed, older states.State
			work          string
		}{
			{states.Manageable, "clean", states.CleanWait, states.CleanFail, states.Manageable, "clean"},
			{states.Manageable, "provide", states.CleanWait, states.CleanFail, states.Available, "clean"},
			{states.Available, "active", states.DeployWait, states.DeployFail, states.NoState, "deploy"},
			{states.Active, "service", states.ServiceWait, states.ServiceFail, states.Active, "service"},
		} {
			newest := series.MaxAPIVersion()
			if _, err := series.Table().Request(test.waits, "abort", newest); err != nil {
				continue
			}
			if _, err := series.Table().Request(test.from, test.target, newest); err != nil {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				f, n := stays(t, series, test.from, test.target, false)
				require.Equal(t, test.waits, n.ProvisionState, "%v %v", series, test.target)
				f.request(n, "abort")
				if test.target == "service" && series < states.Flamingo {
					require.Equal(t, states.ServiceFail, f.settle(n).ProvisionState, series)
					return
				}
				require.Equal(t, test.waits, f.settle(n).ProvisionState)
				require.NoError(t, f.Resume(f.ctx, n.UUID, nil))
				want, text := test.older, ""
				if series >= states.Gazpacho {
					want, text = test.failed, "By request, the "+test.work+" operation was aborted"+afterStay
				}
				got := f.settle(n)
				require.Equal(t, want, got.ProvisionState, "%v %v", series, test.target)
				require.Equal(t, text, got.LastError, "%v %v", series, test.target)
			})
		}
	}
}

// An agent tells of the end of the last step in several ways.
func TestAnAutomatedCleaningThatIsAbortedAtItsLastStepNeverMakesTheNodeAvailable(t *testing.T) {
	for _, end := range []string{"SUCCEEDED", "VERSION_MISMATCH", "CLEAN_VERSION_MISMATCH"} {
		for _, reboots := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := startMachine(t, states.Manageable, nil)
				only := step("only", 10)
				only["abortable"], only["reboot_requested"] = false, reboots
				m.set(func(a *agentProgram) { a.steps["clean"] = []map[string]any{only} })
				m.request(m.n, "provide")
				m.settle(m.n)
				for i := 0; m.boot().Step().Step != "only"; i++ { // the steps of fake-hardware come first
					require.Less(t, i, 3)
				}
				m.request(m.n, "abort")
				require.Equal(t, states.CleanWait, m.settle(m.n).ProvisionState)
				n := m.end(end, "")
				if n.ProvisionState == states.CleanWait { // the machine has been rebooted
					n = m.boot()
				}
				m.requireState(n, states.CleanFail,
					`By request, the clean operation was aborted during or after the completion of step "deploy.only"`)
			})
		}
	}
}
