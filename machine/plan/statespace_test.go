// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A vertex is the combined state of a plan and a conductor: the node, the progress of
// the desired state, and how often work may still fail.
type vertex struct {
	observation
	tried        plan.Tries
	stage        uint8
	failuresLeft uint8
}

const unlimited = math.MaxUint8

type edge struct {
	to   int
	send bool
}

// A stateSpace is the graph of all runs to a goal: an edge is a call of Next with its
// request, or a transition that the conductor makes.
type stateSpace struct {
	*conductor
	desired  plan.Desired
	vertices []vertex
	steps    []plan.Step // the plan's answer in each vertex
	edges    [][]edge
	index    map[vertex]int
}

// explore builds the state space from the starts. With a limit, work fails at most
// that often, including the failure of a start in a failed state, and there are no
// unexpected transitions.
func explore(c *conductor, desired plan.Desired, starts []observation, limit uint8) *stateSpace {
	g := &stateSpace{conductor: c, desired: desired, index: make(map[vertex]int, 4*len(starts))}
	for _, s := range starts {
		failuresLeft := limit
		if limit != unlimited && (c.table.Failed().Has(s.state) || s.state == states.Error) {
			failuresLeft--
		}
		g.add(vertex{observation: s, failuresLeft: failuresLeft})
	}
	for i := 0; i < len(g.vertices); i++ {
		g.expand(i)
	}
	return g
}

func (g *stateSpace) add(c vertex) int {
	i, ok := g.index[c]
	if !ok {
		i = len(g.vertices)
		g.index[c] = i
		g.vertices = append(g.vertices, c)
	}
	return i
}

func (g *stateSpace) expand(i int) {
	here := g.vertices[i]
	desired := g.desired
	desired.Progress = plan.NewProgress(here.tried, here.stage)
	step, err := plan.Next(g.table, here.node(), desired)
	if err != nil {
		require.NoError(g.t, err)
	}
	looked := here
	looked.tried, looked.stage = step.Progress.Tries(), step.Progress.Stage()
	if step.Action == plan.Send {
		looked.observation = g.send(here.observation, step.Verb, g.version())
	}
	edges := []edge{{g.add(looked), step.Action == plan.Send}}
	if edges[0].to == i {
		edges = edges[:0]
	}
	for _, m := range g.transitions(here.observation) {
		next := here
		next.observation = m.to
		if here.failuresLeft != unlimited {
			if m.kind == unexpected || m.kind == failure && here.failuresLeft == 0 {
				continue
			}
			if m.kind == failure {
				next.failuresLeft--
			}
		}
		edges = append(edges, edge{to: g.add(next)})
	}
	g.steps, g.edges = append(g.steps, step), append(g.edges, edges)
}

func (g *stateSpace) version() states.APIVersion {
	if g.desired.Version == states.NoAPIVersion {
		return g.table.Series().MaxAPIVersion()
	}
	return g.desired.Version
}

// describe returns the message of a failing test.
func (g *stateSpace) describe(i int) string {
	return fmt.Sprintf("%v at %v, desired %+v: in %+v the plan says %q (%+v)",
		g.table.Series(), g.version(), g.desired, g.vertices[i], g.steps[i], g.steps[i])
}

// mostRequests returns the greatest number of requests of any run. It fails the test
// if a run may have infinitely many, that is, if a request is on a cycle.
func (g *stateSpace) mostRequests() int {
	s := &components{stateSpace: g, number: make([]int, len(g.vertices)), low: make([]int, len(g.vertices)),
		of: make([]int, len(g.vertices)), sends: make([]int, len(g.vertices))}
	for i := range g.vertices {
		if s.number[i] == 0 {
			s.visit(i)
		}
	}
	most := 0
	for _, sends := range s.sends {
		most = max(most, sends)
	}
	return most
}

// components finds the strongly connected components (Tarjan's algorithm), and the
// greatest number of requests that can be sent from each.
type components struct {
	*stateSpace
	number, low []int // from 1
	of          []int // component, from 1 once it is known
	sends       []int // by vertex, once its component is known
	stack       []int
	count       int
	found       int
}

func (s *components) visit(i int) {
	s.count++
	s.number[i], s.low[i] = s.count, s.count
	s.stack = append(s.stack, i)
	for _, e := range s.edges[i] {
		if s.number[e.to] == 0 {
			s.visit(e.to)
			s.low[i] = min(s.low[i], s.low[e.to])
		} else if s.of[e.to] == 0 {
			s.low[i] = min(s.low[i], s.number[e.to])
		}
	}
	if s.low[i] == s.number[i] {
		s.pop(i)
	}
}

func (s *components) pop(root int) {
	s.found++
	begin := len(s.stack) - 1
	for s.stack[begin] != root {
		begin--
	}
	members := s.stack[begin:]
	s.stack = s.stack[:begin]
	for _, i := range members {
		s.of[i] = s.found
	}
	most := 0
	for _, i := range members {
		for _, e := range s.edges[i] {
			if s.of[e.to] == s.found && e.send {
				require.Fail(s.t, "a request can be sent without end", s.describe(i))
			}
			sends := s.sends[e.to]
			if s.of[e.to] == s.found {
				continue
			}
			if e.send {
				sends++
			}
			most = max(most, sends)
		}
	}
	for _, i := range members {
		s.sends[i] = most
	}
}

// reachable returns the vertices that are reachable from the starts for which from is
// true.
func (g *stateSpace) reachable(from func(vertex) bool) []bool {
	seen := make([]bool, len(g.vertices))
	var queue []int
	for i, c := range g.vertices {
		if c.tried == (plan.Tries{}) && c.stage == plan.Open && from(c) {
			seen[i] = true
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.edges[queue[0]] {
			if !seen[e.to] {
				seen[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	return seen
}
