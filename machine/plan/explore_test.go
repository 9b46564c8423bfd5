package plan_test

import (
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/machine/plan"
	"github.com/ironstate/ironstate/states"
)

// A config is a place in the game between a plan and a conductor: where the node
// is, what the plan remembers, and how often work may still fail.
type config struct {
	spot
	tried plan.Counts
	stage plan.Stage
	luck  uint8 // unlimited: endless
}

const endless = math.MaxUint8

type edge struct {
	to   int
	send bool
}

// A game is all that may happen to a wish, by whichever interleaving of looks at
// the node and moves of the conductor.
type game struct {
	*conductor
	wish    plan.Wish
	configs []config
	steps   []plan.Step // the plan's answer in each config
	edges   [][]edge
	index   map[config]int
}

// play explores the game from each start. With a limit, work fails at most so
// often, a start in a failed state counting as once, and nothing strange happens.
func play(c *conductor, wish plan.Wish, starts []spot, limit uint8) *game {
	g := &game{conductor: c, wish: wish, index: make(map[config]int, 4*len(starts))}
	for _, s := range starts {
		luck := limit
		if limit != endless && (c.table.Failed().Has(s.state) || s.state == states.Error) {
			luck--
		}
		g.add(config{spot: s, luck: luck})
	}
	for i := 0; i < len(g.configs); i++ {
		g.expand(i)
	}
	return g
}

func (g *game) add(c config) int {
	i, ok := g.index[c]
	if !ok {
		i = len(g.configs)
		g.index[c] = i
		g.configs = append(g.configs, c)
	}
	return i
}

func (g *game) expand(i int) {
	here := g.configs[i]
	wish := g.wish
	wish.Progress = plan.Progress{Tried: here.tried, Stage: here.stage}
	step, err := plan.Next(g.table, here.node(), wish)
	if err != nil {
		require.NoError(g.t, err)
	}
	looked := here
	looked.tried, looked.stage = step.Progress.Tried, step.Progress.Stage
	if step.Action == plan.Send {
		looked.spot = g.send(here.spot, step.Verb, g.version())
	}
	edges := []edge{{g.add(looked), step.Action == plan.Send}}
	if edges[0].to == i {
		edges = edges[:0]
	}
	for _, m := range g.moves(here.spot) {
		next := here
		next.spot = m.to
		if here.luck != endless {
			if m.turn == strange || m.turn == fails && here.luck == 0 {
				continue
			}
			if m.turn == fails {
				next.luck--
			}
		}
		edges = append(edges, edge{to: g.add(next)})
	}
	g.steps, g.edges = append(g.steps, step), append(g.edges, edges)
}

func (g *game) version() states.APIVersion {
	if g.wish.Version == states.NoAPIVersion {
		return g.table.Series().MaxAPIVersion()
	}
	return g.wish.Version
}

// describe is for the message of a test that fails.
func (g *game) describe(i int) string {
	return fmt.Sprintf("%v at %v, wish %+v: in %+v the plan says %q (%+v)",
		g.table.Series(), g.version(), g.wish, g.configs[i], g.steps[i], g.steps[i])
}

// worst returns the most requests that any play has, and fails the test where a
// play may have endlessly many: where a request lies on a cycle.
func (g *game) worst() int {
	s := &components{game: g, number: make([]int, len(g.configs)), low: make([]int, len(g.configs)),
		of: make([]int, len(g.configs)), sends: make([]int, len(g.configs))}
	for i := range g.configs {
		if s.number[i] == 0 {
			s.visit(i)
		}
	}
	worst := 0
	for _, sends := range s.sends {
		worst = max(worst, sends)
	}
	return worst
}

// components finds what can be played round and round (Tarjan's algorithm), and
// the most requests that can be sent from there.
type components struct {
	*game
	number, low []int // from 1
	of          []int // component, from 1 once it is known
	sends       []int // by config, once its component is known
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
				require.Fail(s.t, "a request can be sent endlessly often", s.describe(i))
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

// reached returns the configs that can be played from the starts for which from
// is true.
func (g *game) reached(from func(config) bool) []bool {
	seen := make([]bool, len(g.configs))
	var todo []int
	for i, c := range g.configs {
		if c.tried == (plan.Counts{}) && c.stage == plan.Open && from(c) {
			seen[i] = true
			todo = append(todo, i)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, e := range g.edges[todo[0]] {
			if !seen[e.to] {
				seen[e.to] = true
				todo = append(todo, e.to)
			}
		}
	}
	return seen
}
