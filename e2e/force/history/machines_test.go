// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/states"
)

// installed returns a history without findings: a machine is cleaned and gets the image "x".
func installed() *history.History {
	waits, writes := version(30, states.CleanWait, "", "2"), version(60, states.Deploying, "a", "5")
	writes.Image = "x"
	active := version(80, states.Active, "", "6")
	active.Image = "x"
	return &history.History{
		Table:       states.Latest().Table(),
		Work:        map[states.Work][]string{states.WorkDeploy: {"deploy.deploy"}}, // of other nodes
		Memberships: map[string]history.Membership{"a": {Conductor: "alpha", Begun: 1}},
		Nodes: map[string][]history.Version{node: {
			version(10, states.Manageable, "", ""), version(20, states.Cleaning, "a", "1"), waits, version(40, states.Cleaning, "a", "3"),
			version(50, states.Available, "", "4"), writes, active,
		}},
		Requests: []history.Request{provision("provide", 19, 21, history.Accepted), provision("active", 59, 61, history.Accepted)},
		Machines: map[string]history.Machine{node: {Disk: "x", Steps: []history.Step{
			{Name: "erase", At: at(25), Disk: "y"}, {Name: history.CleanedStep, At: at(35)}, {Name: "erase", At: at(62)},
			{Name: history.DeployedStep, At: at(70), Disk: "x"},
		}}},
	}
}

func TestAnInstallationHasNoFindings(t *testing.T) {
	require.Empty(t, installed().Check())
	cleanings, deployments := installed().Installations()
	require.Equal(t, [2]int{1, 1}, [2]int{cleanings, deployments})
}

func TestAnEndThatIsReadLateIncludesNoStepOfTheNextWork(t *testing.T) {
	h := installed()
	h.Nodes[node][4].Stored = at(65) // available, after the first step of the deployment
	require.Empty(t, h.Check())
}

func TestAnAbortOfAStepThatWaitsMayHaveNoTransition(t *testing.T) {
	h := installed() // a step of the cleaning waits from 30 to 40
	h.Requests = append(h.Requests, provision("abort", 33, 35, history.Accepted))
	require.Empty(t, h.Check())
	h.Requests = append(h.Requests, provision("abort", 52, 54, history.Accepted))
	require.Len(t, h.Check(), 1)
}

func TestEachBrokenRuleOfMachinesIsFound(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(m *history.Machine, versions []history.Version)
		text  string
	}{
		{"no step of the cleaning was executed", func(m *history.Machine, _ []history.Version) { m.Steps = m.Steps[2:] },
			"no cleaning has erased the disk"},
		{"the disk is not erased", func(m *history.Machine, _ []history.Version) { m.Steps[1].Disk = "y" }, "no cleaning has erased the disk"},
		{"an earlier cleaning has erased the disk", func(m *history.Machine, _ []history.Version) { m.Steps[1].At = at(15) },
			"no cleaning has erased the disk"},
		{"a later cleaning has erased the disk", func(m *history.Machine, _ []history.Version) { m.Steps[1].At = at(55) },
			"no cleaning has erased the disk"},
		{"no step of the deployment was executed", func(m *history.Machine, _ []history.Version) { m.Steps = m.Steps[:3] },
			"has not written the image"},
		{"the image is another one", func(m *history.Machine, _ []history.Version) { m.Steps[3].Disk = "y" }, "has not written the image"},
		{"the image was chosen later", func(_ *history.Machine, v []history.Version) { v[5].Image = "" }, "has not written the image"},
		{"the disk changes later", func(m *history.Machine, _ []history.Version) { m.Disk = "" }, `its disk has the image "" instead of ["x"]`},
		{"a step is executed twice", func(m *history.Machine, _ []history.Version) {
			m.Steps = append(m.Steps, history.Step{Name: "erase", At: at(45)})
		}, "began erase at"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := installed()
			m := h.Machines[node]
			test.spoil(&m, h.Nodes[node])
			h.Machines[node] = m
			found := h.Check()
			require.NotEmpty(t, found)
			require.Equal(t, "machines", found[0].Rule)
			require.Contains(t, found[0].Text, test.text)
		})
	}
}
