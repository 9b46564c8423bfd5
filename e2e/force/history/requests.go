// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// move is a stored transition.
type move struct {
	from states.State
	to   Version
}

// requests checks that requests and transitions can be matched one to one.
//
// It searches for a matching that covers the accepted requests, and for one that covers
// the transitions. By the theorem of Mendelsohn and Dulmage, one matching that covers
// both then exists.
func (c *checker) requests() {
	byNode := map[string][]Request{}
	for _, r := range c.Requests {
		if r.Kind == Provision && r.Outcome != Refused {
			byNode[r.Node] = append(byNode[r.Node], r)
		}
	}
	for id, versions := range c.Nodes {
		var moves []move
		for i := 1; i < len(versions); i++ {
			if versions[i].State != versions[i-1].State {
				moves = append(moves, move{versions[i-1].State, versions[i]})
			}
		}
		c.assign(id, byNode[id], moves)
	}
	for id := range byNode {
		if _, ok := c.Nodes[id]; !ok {
			c.find("requests", id, "requests for the node were accepted, but the node was never stored")
		}
	}
}

// waitedInStep reports whether a step of a cleaning, a deployment or a service may have waited when a request was done.
func (c *checker) waitedInStep(r Request) bool {
	versions := c.Nodes[r.Node]
	for i, v := range versions {
		if stepWaits.Has(v.State) && v.Updated.Before(r.End) && (i+1 == len(versions) || versions[i+1].Stored.After(r.Begin)) {
			return true
		}
	}
	return false
}

// stepWaits are the states in which the work may wait for the agent's step.
var stepWaits = states.SetOf(states.CleanWait, states.DeployWait, states.ServiceWait)

// assign checks that the requests for a node and its transitions can be matched one to one.
func (c *checker) assign(id string, requests []Request, moves []move) {
	accepted := slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return r.Outcome != Accepted })
	for _, i := range unmatched(len(accepted), len(moves), func(i, j int) bool { return c.ledTo(accepted[i], moves[j]) }) {
		r := accepted[i]
		if r.Word == "abort" && c.waitedInStep(r) {
			continue // the step may not be abortable: the abort is then only noted, and the work ends after the step or by its failure
		}
		c.find("requests", id, "the request %q of client %d to %s at %s was accepted, and has led to no transition of its own",
			r.Word, r.Client, r.Conductor, r.Begin.Format(timeFormat))
	}
	byClients := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { // a conductor moves a node that has work or waits
		return c.Table.Stuck().Has(m.from) || c.Table.Phase(m.from) == states.PhaseWaiting
	})
	for _, i := range unmatched(len(byClients), len(requests), func(i, j int) bool { return c.ledTo(requests[j], byClients[i]) }) {
		m := byClients[i]
		c.find("requests", id, "nobody has asked for the transition from %q to %q at revision %d", m.from, m.to.State, m.to.Revision)
	}
}

const timeFormat = "15:04:05.000"

// ledTo reports whether a request may have led to a transition.
func (c *checker) ledTo(r Request, m move) bool {
	event, err := c.Table.Request(m.from, r.Word, c.Table.Series().MaxAPIVersion())
	if err != nil {
		return false
	}
	if to, ok := c.Table.Next(m.from, event); !ok || to != m.to.State {
		return false
	}
	within := !m.to.Updated.Before(r.Begin.Add(-clock))
	if r.Outcome == Accepted {
		within = within && !m.to.Updated.After(r.End.Add(clock))
	}
	return within
}

// unmatched returns the vertices without a partner, of the n on the left side, in a
// maximum bipartite matching with the m on the right side.
func unmatched(n, m int, fits func(i, j int) bool) []int {
	left := make([]int, m) // the partner of each vertex on the right side plus 1; 0 is none
	var try func(i int, seen map[int]bool) bool
	try = func(i int, seen map[int]bool) bool {
		for j := range m {
			if seen[j] || !fits(i, j) {
				continue
			}
			seen[j] = true
			if left[j] == 0 || try(left[j]-1, seen) {
				left[j] = i + 1
				return true
			}
		}
		return false
	}
	var rest []int
	for i := range n {
		if !try(i, map[int]bool{}) {
			rest = append(rest, i)
		}
	}
	return rest
}
