// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// versionsOf returns version 1, the versions that add requests, and the series' highest
// version.
func versionsOf(table *states.Table) []states.APIVersion {
	var all []states.APIVersion
	before := -1
	for v := states.APIVersion(1); v <= table.Series().MaxAPIVersion(); v++ {
		taken := 0
		for row := range table.Transitions() {
			if _, err := table.Request(row.From, row.Event.Verb(), v); err == nil {
				taken++
			}
		}
		if taken > before {
			all, before = append(all, v), taken
		}
	}
	return append(all, table.Series().MaxAPIVersion())
}

// A coverage counts the cases that a test has explored.
type coverage struct {
	mu                      sync.Mutex
	spaces, vertices, edges int
	most                    map[plan.Goal]int
}

func (n *coverage) count(g *stateSpace) {
	most := g.mostRequests()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spaces++
	n.vertices += len(g.vertices)
	for _, edges := range g.edges {
		n.edges += len(edges)
	}
	if n.most == nil {
		n.most = make(map[plan.Goal]int)
	}
	n.most[g.desired.Goal] = max(n.most[g.desired.Goal], most)
}

func (n *coverage) log(t *testing.T, title string) {
	t.Logf("%s: %d state spaces (a series, an API version, a goal and a policy, from every state), %d vertices, %d edges",
		title, n.spaces, n.vertices, n.edges)
	for goal := range plan.AllGoals() {
		t.Logf("  %-13v at most %2d requests", goal, n.most[goal])
	}
}

// eachDesired calls check for every combination of series, API version of versionsOf,
// goal and policy.
func eachDesired(t *testing.T, policies []plan.Policy, check func(*conductor, plan.Desired)) {
	t.Run("series", func(t *testing.T) {
		for series := range states.AllSeries() {
			t.Run(series.String(), func(t *testing.T) {
				t.Parallel()
				c := newConductor(t, series.Table())
				for _, v := range versionsOf(series.Table()) {
					for goal := range plan.AllGoals() {
						for _, policy := range policies {
							check(c, plan.Desired{Goal: goal, Version: v, Policy: policy})
						}
					}
				}
			})
		}
	})
}

// TestThePlanReachesTheGoal shows, for every start from which an independent search
// finds a route, that each run reaches the goal with the number of requests that Left
// announces if no work fails more often than it may be retried. From other starts the
// plan is blocked at once.
//
// No request is on a cycle, and every vertex except the goal has an edge for a request
// or for the conductor. A run that does not reach the goal is therefore one in which
// the conductor waits and resumes forever.
func TestThePlanReachesTheGoal(t *testing.T) {
	var covered coverage
	eachDesired(t, policies(1), func(c *conductor, desired plan.Desired) {
		g := explore(c, desired, c.starts(desired), 1)
		covered.count(g)
		routes := routesOf(g)
		for i, step := range g.steps {
			here := g.vertices[i]
			reachable := routes[here.withoutError()]
			switch step.Action {
			case plan.Send:
				checkSent(g, i, routes)
			case plan.Wait:
				if !succeeds(g.transitions(here.observation)) {
					require.Fail(c.t, "waits although nothing happens without a request", g.describe(i))
				}
			case plan.Blocked:
				if reachable && step.Reason != plan.NeedsUnhold {
					require.Fail(c.t, "blocked though there is a route", g.describe(i))
				}
				continue
			}
			// The search knows no request that ends work in progress. That a route exists after such a request is for
			// checkSent.
			endsWork := step.Action == plan.Send && c.table.Unstable().Has(here.state)
			if !reachable && !endsWork && here.stage == plan.Open {
				require.Fail(c.t, "not blocked though there is no route", g.describe(i))
			}
		}
	})
	covered.log(t, "each work may fail once and be retried once")
}

// checkSent fails the test unless a request leads to an observation with a route, and
// leaves one request less.
func checkSent(g *stateSpace, i int, routes map[observation]bool) {
	sent := g.edges[i][0].to
	if here := g.vertices[sent]; here.stage == plan.Open && !routes[here.withoutError()] {
		require.Fail(g.t, "sends a request though there is no route", g.describe(i))
	}
	if after := g.steps[sent]; after.Action != plan.Blocked && after.Left != g.steps[i].Left-1 {
		require.Fail(g.t, "miscounts the requests that are left", g.describe(i)+"; then "+g.describe(sent))
	}
}

func succeeds(transitions []transition) bool {
	return slices.ContainsFunc(transitions, func(m transition) bool { return m.kind == success })
}

// routesOf returns the observations from which a permitted route leads to the goal if
// all work succeeds.
func routesOf(g *stateSpace) map[observation]bool {
	c, desired := g.conductor, g.desired
	routes := make(map[observation]bool)
	before := make(map[observation][]observation)
	var queue []observation
	reach := func(s observation) {
		if !routes[s] {
			routes[s] = true
			queue = append(queue, s)
		}
	}
	seen := make(map[observation]bool)
	var all []observation
	for _, c := range g.vertices {
		all = append(all, c.withoutError())
	}
	for ; len(all) > 0; all = all[1:] {
		from := all[0]
		if seen[from] {
			continue
		}
		seen[from] = true
		if isGoal(c, desired.Goal, from.state) {
			reach(from)
		}
		for _, m := range c.transitions(from) {
			if m.kind == success {
				to := m.to.withoutError()
				before[to] = append(before[to], from)
				all = append(all, to)
			}
		}
		for _, verb := range verbsFrom(c, desired, from.state) {
			if isWork(desired.Goal, verb) {
				reach(from)
			}
			to := c.send(from, verb, desired.Version).withoutError()
			before[to] = append(before[to], from)
			all = append(all, to)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, s := range before[queue[0]] {
			reach(s)
		}
	}
	return routes
}

func isGoal(c *conductor, goal plan.Goal, s states.State) bool {
	switch goal {
	case plan.In(states.Enroll):
		return s == states.Enroll
	case plan.In(states.Manageable):
		return s == states.Manageable
	case plan.In(states.Available), plan.After(states.EventDelete):
		return s == states.Available
	case plan.In(states.Active), plan.After(states.EventAdopt):
		return s == states.Active
	case plan.In(states.Rescue):
		return s == states.Rescue
	case plan.In(states.Error):
		return s == states.Error
	case plan.Deletable:
		return s == states.Available || c.table.DeleteAllowed().Has(s)
	default:
		return false
	}
}

// isWork reports whether a request starts the goal's work.
func isWork(goal plan.Goal, verb string) bool {
	switch goal {
	case plan.After(states.EventInspect):
		return verb == "inspect"
	case plan.After(states.EventClean):
		return verb == "clean"
	case plan.After(states.EventRebuild):
		return verb == "rebuild" || verb == "active"
	case plan.After(states.EventService):
		return verb == "service"
	default:
		return false
	}
}

// verbsFrom returns the requests that may be sent in a state in which no work is
// in progress.
func verbsFrom(c *conductor, desired plan.Desired, from states.State) []string {
	if c.table.Unstable().Has(from) || c.table.Phase(from) == states.PhaseHold {
		return nil
	}
	var verbs []string
	for _, verb := range []string{
		"manage", "provide", "active", "rebuild", "deleted", "inspect", "adopt", "clean", "rescue", "unrescue", "service", "abort",
	} {
		if c.ask(request{from, verb, desired.Version}) != states.NoEvent && fits(desired, from, verb) {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// fits reports whether a request suits a goal and policy. It is a second implementation of the
// rules of the package comment.
func fits(desired plan.Desired, from states.State, verb string) bool {
	switch verb {
	case "deleted":
		return desired.Policy.MayDestroy
	case "rebuild":
		return desired.Goal != plan.After(states.EventAdopt) && (desired.Policy.MayDestroy || from == states.DeployFail)
	case "active":
		return desired.Goal != plan.After(states.EventAdopt)
	case "adopt":
		switch desired.Goal {
		case plan.After(states.EventAdopt):
			return true
		case plan.In(states.Active), plan.In(states.Rescue), plan.After(states.EventRebuild), plan.After(states.EventService):
			return from == states.AdoptFail
		}
		return false
	case "manage":
		switch desired.Goal {
		case plan.In(states.Manageable), plan.After(states.EventInspect), plan.Deletable, plan.After(states.EventAdopt):
			return true
		}
		return desired.Policy.MayDestroy || from != states.AdoptFail
	default:
		return true
	}
}

// TestFailuresEndInBlocked shows, for a conductor that may make every transition, that
// every run has finitely many requests, that the API of the version accepts each
// request, and that none destroys a workload without permission.
func TestFailuresEndInBlocked(t *testing.T) {
	for retries := range uint8(2) {
		var covered coverage
		eachDesired(t, policies(retries), func(c *conductor, desired plan.Desired) {
			g := explore(c, desired, c.starts(desired), unlimited)
			covered.count(g)
			if !desired.Policy.MayDestroy {
				checkKeepsWorkloads(g)
			}
			if retries == 0 {
				checkNoRetries(g)
			}
		})
		covered.log(t, []string{"no retries", "one retry"}[retries])
	}
}

// workloads has the states in which a node may carry a workload that was there
// before the goal was set.
var workloads = states.SetOf(
	states.Active, states.DeployWait, states.DeployHold, states.DeployFail, states.Deploying, states.Error,
	states.Adopting, states.AdoptFail,
	states.Rescue, states.RescueFail, states.RescueWait, states.Rescuing, states.UnrescueFail, states.Unrescuing,
	states.Servicing, states.ServiceWait, states.ServiceFail, states.ServiceHold,
)

// checkKeepsWorkloads fails the test if a request tears down, erases or overwrites a
// workload. In deploy failed the image has been overwritten already.
func checkKeepsWorkloads(g *stateSpace) {
	loaded := g.reachable(func(c vertex) bool { return workloads.Has(c.state) })
	for i, step := range g.steps {
		if step.Action != plan.Send {
			continue
		}
		from := g.vertices[i].state
		destroys := step.Verb == "deleted" || step.Verb == "rebuild" && from != states.DeployFail ||
			loaded[i] && (step.Verb == "provide" || step.Verb == "clean" || step.Verb == "active" && from != states.DeployFail)
		if destroys {
			require.Fail(g.t, "destroys a workload", g.describe(i))
		}
	}
}

// checkNoRetries fails the test if work is started in the state in which it failed, or
// more than once.
func checkNoRetries(g *stateSpace) {
	for i, step := range g.steps {
		if step.Action != plan.Send {
			continue
		}
		retries := false
		for work, tried := range step.Progress.Tries() {
			retries = retries || tried > 1 || tried > 0 && g.vertices[i].tried[work] > 0 && states.Work(work) == step.Work
		}
		if retries || failedAt[g.vertices[i].state] != states.NoState && failedAt[g.vertices[i].state] == step.Work.Working() {
			require.Fail(g.t, "retries what failed", g.describe(i))
		}
	}
}

var failedAt = map[states.State]states.State{
	states.InspectFail: states.Inspecting, states.CleanFail: states.Cleaning, states.DeployFail: states.Deploying,
	states.AdoptFail: states.Adopting, states.RescueFail: states.Rescuing, states.UnrescueFail: states.Unrescuing,
	states.ServiceFail: states.Servicing, states.Error: states.Deleting,
}

// TestEveryVersionTakesWhatIsSent checks the first step at every API version of every
// series.
func TestEveryVersionTakesWhatIsSent(t *testing.T) {
	sent := 0
	for series := range states.AllSeries() {
		table := series.Table()
		for v := states.APIVersion(1); v <= series.MaxAPIVersion(); v++ {
			for goal := range plan.AllGoals() {
				for _, policy := range policies(1) {
					for s := range table.States().All() {
						step, err := plan.Next(table, observation{state: s}.node(), plan.Desired{Goal: goal, Version: v, Policy: policy})
						if err != nil {
							require.NoError(t, err)
						}
						if step.Action != plan.Send {
							continue
						}
						sent++
						if _, err := table.Request(s, step.Verb, v); err != nil {
							require.NoError(t, err)
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests taken", sent)
}

// TestTheStoredTargetCountsInCleaningAlone compares the answers for nodes that differ
// in their stored target.
func TestTheStoredTargetCountsInCleaningAlone(t *testing.T) {
	for series := range states.AllSeries() {
		table := series.Table()
		for goal := range plan.AllGoals() {
			for _, policy := range policies(1) {
				desired := plan.Desired{Goal: goal, Policy: policy, Version: series.MaxAPIVersion()}
				for s := range table.States().All() {
					want, err := plan.Next(table, machine.Node{State: s}, desired)
					require.NoError(t, err)
					for target := range table.Stable().All() {
						got, err := plan.Next(table, machine.Node{State: s, Target: target}, desired)
						if err != nil || got != want && !isCleaning(s) {
							t.Fatalf("%v: in %v with target %v: %v, %v; with none: %v", series, s, target, got, err, want)
						}
					}
				}
			}
		}
	}
}
