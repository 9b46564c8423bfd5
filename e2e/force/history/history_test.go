// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/e2e/force/history"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

const node = "a-node"

// at returns a time in the history, given in tenths of a second.
func at(tenths int) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(tenths) * 100 * time.Millisecond)
}

// version returns a version that was stored around a moment. The moment is also its
// revision.
func version(moment int, state states.State, claim, moved string) history.Version {
	return history.Version{
		Revision: int64(moment), State: state, Claim: claim, Moved: moved,
		Updated: at(moment), Stored: at(moment).Add(10 * time.Millisecond),
	}
}

func provision(word string, begin, end int, outcome history.Outcome) history.Request {
	return history.Request{Node: node, Kind: history.Provision, Word: word, Begin: at(begin), End: at(end), Outcome: outcome}
}

func write(value string, begin, end int, outcome history.Outcome) history.Request {
	return history.Request{Node: node, Kind: history.Write, Value: value, Begin: at(begin), End: at(end), Outcome: outcome}
}

func read(value string, v history.Version, begin, end int) history.Request {
	shown := history.Shown{State: v.State, Reserved: v.Claim != "", Updated: v.Updated}
	return history.Request{Node: node, Kind: history.Read, Value: value, Shown: shown, Begin: at(begin), End: at(end)}
}

func operation(conductor, claim, name string, revision int64, begin, end int) history.Operation {
	return history.Operation{
		Conductor: conductor,
		Node:      node,
		Name:      name,
		Claim:     claim,
		Revision:  revision,
		Asked:     at(begin),
		Begin:     at(begin),
		End:       at(end),
	}
}

// sound returns a history without findings: alpha verifies a node and dies during its
// inspection, beta ends the inspection, and a client writes a value.
func sound() *history.History {
	lost, _ := machine.Node{State: states.Inspecting}.Orphaned(states.Latest().Table())
	failed := version(60, states.InspectFail, "", "3")
	failed.LastError = lost
	written := version(70, states.InspectFail, "", "3")
	written.LastError, written.Value = lost, "1-1"
	return &history.History{
		Table:       states.Latest().Table(),
		Work:        map[states.Work][]string{states.WorkVerify: {"verify"}, states.WorkInspect: {"inspect"}},
		Memberships: map[string]history.Membership{"a": {Conductor: "alpha", Begun: 1, Ended: 55}, "b": {Conductor: "beta", Begun: 2}},
		Nodes: map[string][]history.Version{node: {
			version(5, states.Enroll, "", ""),
			version(10, states.Verifying, "", "1"),
			version(11, states.Verifying, "a", "1"),
			version(20, states.Manageable, "", "2"),
			version(30, states.Inspecting, "a", "3"),
			failed, written,
		}},
		Requests: []history.Request{
			provision("manage", 9, 12, history.Accepted),
			provision("inspect", 28, 32, history.Unknown),
			provision("inspect", 65, 66, history.Refused),
			write("1-1", 68, 75, history.Accepted),
			read("", failed, 62, 63),
			read("1-1", written, 71, 90),
		},
		Operations: []history.Operation{
			operation("alpha", "a", "verify", 11, 12, 19),
			operation("alpha", "a", "inspect", 30, 31, 99),
		},
		Outages: []history.Outage{{Conductor: "alpha", Begin: at(40), End: at(80)}},
	}
}

func TestASoundHistoryHasNoFindings(t *testing.T) {
	require.Empty(t, sound().Check())
}

func TestAnOperationInFlightWhenItsConductorWasStoppedMayBeginLate(t *testing.T) {
	h := sound()
	late := operation("alpha", "a", "power off", 30, 81, 82)
	late.Asked = at(39)
	h.Operations = append(h.Operations, late)
	require.Empty(t, h.Check())
}

// A step that is not abortable ends before its work does.
func TestAnAbortOfAWaitingStepMayOnlyBeNoted(t *testing.T) {
	for waiting, working := range map[states.State]states.State{
		states.CleanWait: states.Cleaning, states.DeployWait: states.Deploying, states.ServiceWait: states.Servicing,
	} {
		h := &history.History{
			Table:       states.Latest().Table(),
			Memberships: map[string]history.Membership{"a": {Conductor: "alpha", Begun: 1}},
			Nodes: map[string][]history.Version{node: {
				version(10, waiting, "", "1"), version(20, working, "", "2"), version(30, waiting, "", "3"), version(40, working, "", "4"),
			}},
			Requests: []history.Request{provision("abort", 32, 33, history.Accepted)},
		}
		require.NotContains(t, rules(h), "requests", waiting)
		h.Requests[0] = provision("abort", 42, 43, history.Accepted)
		require.Contains(t, rules(h), "requests", working)
	}
}

// rules returns the rules that a history breaks.
func rules(h *history.History) (all []string) {
	for _, f := range h.Check() {
		all = append(all, f.Rule)
	}
	return all
}

func TestEachStepMayHaveTheSameOperation(t *testing.T) {
	h := sound()
	v := h.Nodes[node]
	next := v[4]
	next.Revision, next.Step, next.Updated, next.Stored = 32, "the next", at(32), at(33)
	h.Nodes[node] = append(append(v[:5:5], next), v[5:]...)
	h.Operations = append(h.Operations, operation("alpha", "a", "power off", 30, 31, 32), operation("alpha", "a", "power off", 32, 34, 35))
	require.Empty(t, h.Check())
}

func TestAnOldErrorIsNoEndOfAPowerRequest(t *testing.T) {
	h := sound()
	died, asked, done := h.Nodes[node][6], h.Nodes[node][6], h.Nodes[node][6]
	died.Revision, died.LastError = 79, "it has died"
	asked.Revision, asked.LastError, asked.Claim, asked.TargetPower = 80, died.LastError, "b", states.PowerOn
	done.Revision, done.LastError = 81, died.LastError
	h.Nodes[node], h.Requests = append(h.Nodes[node], died, asked, done), h.Requests[:5]
	require.Empty(t, h.Check())
}

func TestEachBrokenRuleIsFound(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(h *history.History, versions []history.Version)
		rule  string
		text  string
	}{
		{"a write breaks a promise", func(_ *history.History, v []history.Version) { v[3].Broken = []string{"it is late"} },
			"writes", "at revision 20 it is late"},
		{"revisions go back", func(_ *history.History, v []history.Version) { v[2].Revision = 9 }, "writes", "revision 9 comes after 10"},
		{"the work of one that is alive is ended", func(h *history.History, _ []history.Version) {
			h.Memberships["a"] = history.Membership{Conductor: "alpha", Begun: 1, Ended: 61}
		}, "claims", "while its lease lasted"},
		{"the power request of one that is alive is ended", func(h *history.History, v []history.Version) {
			asked, died := v[6], v[6]
			asked.Revision, asked.Claim, asked.TargetPower = 80, "b", states.PowerOn
			died.Revision, died.LastError = 81, "it has died"
			h.Nodes[node], h.Requests = append(v, asked, died), h.Requests[:5]
		}, "claims", "beta (b)"},
		{"a reservation of nobody", func(h *history.History, _ []history.Version) { delete(h.Memberships, "a") },
			"claims", "which never was a member"},
		{"an accepted request is lost", func(h *history.History, _ []history.Version) {
			h.Requests = append(h.Requests, provision("inspect", 61, 62, history.Accepted))
		}, "requests", `the request "inspect" of client 0`},
		{"two requests, one work", func(h *history.History, _ []history.Version) {
			h.Requests = append(h.Requests, provision("manage", 8, 13, history.Accepted))
		}, "requests", `the request "manage" of client 0`},
		{"a refused request is done", func(h *history.History, _ []history.Version) { h.Requests[0].Outcome = history.Refused },
			"requests", "nobody has asked for"},
		{"a request is done later than its answer", func(h *history.History, _ []history.Version) { h.Requests[0].End = at(9) },
			"requests", `the request "manage"`},
		{"two conductors at work", func(h *history.History, _ []history.Version) {
			h.Operations = append(h.Operations, operation("beta", "b", "verify", 11, 15, 16))
		}, "operations", "beta began verify at"},
		{"an operation without a reservation", func(h *history.History, _ []history.Version) { h.Operations[0].Revision = 10 },
			"operations", `reserved by ""`},
		{"an operation for what was never stored", func(h *history.History, _ []history.Version) { h.Operations[0].Revision = 12 },
			"operations", "never stored"},
		{"an operation is done twice", func(h *history.History, _ []history.Version) {
			h.Operations = append(h.Operations, operation("alpha", "a", "inspect", 30, 36, 37))
		}, "operations", "for the same work"},
		{"an operation is left out", func(h *history.History, _ []history.Version) { h.Operations = h.Operations[1:] },
			"operations", "verify was not done"},
		{"one that hung goes on", func(h *history.History, _ []history.Version) {
			h.Operations = append(h.Operations, operation("alpha", "a", "inspect again", 30, 81, 82))
		}, "operations", "after its reservation was dropped"},
		{"a step goes on with its next operation", func(h *history.History, _ []history.Version) {
			h.Operations[1].End = at(81)
			h.Operations = append(h.Operations, operation("alpha", "a", "power off", 30, 81, 82))
		}, "operations", "alpha began power off"},
		{"one that waited for permission goes on", func(h *history.History, _ []history.Version) {
			late := operation("alpha", "a", "power off", 30, 81, 82)
			late.Asked, h.Outages = at(39), nil
			h.Operations = append(h.Operations, late)
		}, "operations", "alpha began power off"},
		{"an operation is done twice in a step", func(h *history.History, _ []history.Version) {
			h.Operations = append(h.Operations, operation("alpha", "a", "power off", 30, 31, 32), operation("alpha", "a", "power off", 30, 33, 34))
		}, "operations", "for the same work"},
		{"a stale read", func(h *history.History, v []history.Version) { h.Requests = append(h.Requests, read("", v[5], 75, 76)) },
			"reads", "do not fit the stored versions"},
		{"a read of what comes later", func(h *history.History, v []history.Version) {
			h.Requests = append(h.Requests, read("1-1", v[6], 62, 63))
		}, "reads", "do not fit the stored versions"},
		{"reads go back", func(h *history.History, v []history.Version) {
			h.Requests = append(h.Requests, read("1-1", v[6], 69, 71), read("", v[5], 72, 73))
			v[6].Stored = at(95)
		}, "reads", "do not fit the stored versions"},
		{"a written value is lost", func(h *history.History, v []history.Version) {
			h.Nodes[node], h.Requests = v[:6], h.Requests[:4]
		}, "reads", "was accepted, and never stored"},
		{"a value is read that was written over", func(h *history.History, v []history.Version) {
			over := v[6]
			over.Revision, over.Value, over.Updated, over.Stored = 80, "2-1", at(80), at(81)
			h.Nodes[node] = append(v, over)
			h.Requests = append(h.Requests, write("2-1", 79, 82, history.Accepted), read("1-1", over, 83, 84))
		}, "reads", "fit no order"},
		{"a node does not become idle", func(_ *history.History, v []history.Version) { v[6].Waits = "it is in cleaning" },
			"idle", "it is in cleaning"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := sound()
			test.spoil(h, h.Nodes[node])
			var texts []string
			for _, f := range h.Check() {
				texts = append(texts, f.String())
			}
			require.Contains(t, rules(h), test.rule, texts)
			require.Condition(t, func() bool { return contains(texts, test.text) }, "want %q in %q", test.text, texts)
		})
	}
}

func contains(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
