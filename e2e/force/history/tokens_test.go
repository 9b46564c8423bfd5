// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/states"
)

// deserted returns a history without findings: a node waits for an agent that never comes, in two inspections and a
// cleaning, and a lookup gets the token in each.
func deserted() *history.History {
	versions := []history.Version{
		version(10, states.Manageable, "", ""), version(20, states.Inspecting, "a", "1"), version(30, states.InspectWait, "", "2"),
		version(31, states.InspectWait, "", "2"), version(40, states.InspectFail, "", "3"), version(50, states.Inspecting, "a", "4"),
		version(60, states.InspectWait, "", "5"), version(61, states.InspectWait, "", "5"), version(70, states.InspectFail, "", "6"),
		version(80, states.Manageable, "", "7"), version(90, states.Cleaning, "a", "8"), version(100, states.CleanWait, "", "9"),
		version(101, states.CleanWait, "", "9"), version(110, states.Cleaning, "a", "10"), version(120, states.CleanFail, "", "11"),
	}
	versions[3].Token, versions[7].Token, versions[12].Token = "x", "y", "z"
	return &history.History{
		Table:       states.Latest().Table(),
		Memberships: map[string]history.Membership{"a": {Conductor: "alpha", Begun: 1}},
		Nodes:       map[string][]history.Version{node: versions},
		Requests: []history.Request{
			provision("inspect", 19, 21, history.Accepted), provision("inspect", 49, 51, history.Accepted),
			provision("manage", 79, 81, history.Accepted), provision("clean", 89, 91, history.Accepted),
		},
		Machines: map[string]history.Machine{node: {Deserted: true}},
		Given:    map[string][]string{node: {"x", "y", "z"}},
	}
}

func TestAWaitForAnAgentThatNeverComesHasNoFindings(t *testing.T) {
	require.Empty(t, deserted().Check())
	h := deserted()
	h.Given = nil // all answers were lost
	require.Empty(t, h.Check())
}

func TestEachBrokenRuleOfTokensAndOfMachinesWithoutAnAgentIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		spoil      func(h *history.History, versions []history.Version)
		rule, text string
	}{
		"a token is given out twice": {func(h *history.History, _ []history.Version) { h.Given[node] = []string{"x", "y", "x"} },
			"tokens", "given out before"},
		"a token is given out that is not stored": {func(h *history.History, _ []history.Version) { h.Given[node] = []string{"w"} },
			"tokens", "never stored"},
		"an inspection has two tokens": {func(_ *history.History, v []history.Version) { v[2].Token = "w" },
			"tokens", `it has a second token in "inspect wait"`},
		"an inspection forgets its token and has another": {func(_ *history.History, v []history.Version) {
			v[1].State, v[1].Token, v[1].Claim, v[2].Token = states.InspectWait, "w", "", ""
			v[1].Moved, v[2].Moved = "2", "2"
		}, "tokens", `it has a second token in "inspect wait"`},
		"a cleaning has two tokens": {func(_ *history.History, v []history.Version) { v[11].Token = "w" },
			"tokens", `it has a second token in "clean wait"`},
		"an inspection succeeds": {func(_ *history.History, v []history.Version) { v[4].State = states.Manageable },
			"machines", `it left "inspect wait" for "manageable"`},
		"a cleaning succeeds": {func(_ *history.History, v []history.Version) { v[14].State = states.Manageable },
			"machines", `it left "cleaning" for "manageable"`},
	} {
		t.Run(name, func(t *testing.T) {
			h := deserted()
			test.spoil(h, h.Nodes[node])
			found := ofRule(h.Check(), test.rule)
			require.Len(t, found, 1)
			require.Contains(t, found[0].Text, test.text)
		})
	}
}

// ofRule returns the findings of a rule.
func ofRule(all []history.Finding, rule string) (found []history.Finding) {
	for _, f := range all {
		if f.Rule == rule {
			found = append(found, f)
		}
	}
	return found
}
