// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats holds a Syncer's counters since it was made, and the current values of its
// gauges, for exporters: [expvar.Func] can publish it unchanged, as examples/powersync
// does.
type Stats struct {
	Nodes  map[Outcome]int `json:"nodes"`  // every outcome, those of rounds under way included
	Seen   int             `json:"seen"`   // the sum of Nodes
	Failed int             `json:"failed"` // as in Report, and with power_not_set

	Rounds     int           `json:"rounds"`
	Recoveries int           `json:"recoveries"` // recovery rounds
	Overruns   int           `json:"overruns"`   // rounds of both kinds that overran
	Reads      int           `json:"reads"`      // calls of Driver.PowerState
	Sets       int           `json:"sets"`       // calls of Driver.SetPower
	Abandoned  int           `json:"abandoned"`  // calls of the Driver that did not return in time
	Dropped    int           `json:"dropped"`    // calls of OnEvent, OnReport and the Logger that failed or were not made
	Failing    int           `json:"failing"`    // gauge: nodes whose last attempt in a sync round failed
	Held       int           `json:"held"`       // gauge: nodes that this Syncer holds
	LastRound  time.Duration `json:"last_round_ns"`
}

// counters are the source of Stats.
type counters struct {
	mu    sync.Mutex
	nodes map[Outcome]int

	rounds, recoveries atomic.Int64

	overruns  atomic.Int64
	reads     atomic.Int64
	sets      atomic.Int64
	abandoned atomic.Int64
	dropped   atomic.Int64
	lastRound atomic.Int64 // nanoseconds
}

func (c *counters) count(o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil {
		c.nodes = make(map[Outcome]int, len(outcomes))
	}
	c.nodes[o]++
}

func (c *counters) counts() map[Outcome]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make(map[Outcome]int, len(outcomes))
	for _, o := range outcomes {
		nodes[o] = c.nodes[o]
	}
	return nodes
}

// Stats returns the current counters. It is cheap, and safe to call at any time.
func (s *Syncer) Stats() Stats {
	nodes := s.counters.counts()
	return Stats{
		Nodes:      nodes,
		Seen:       sum(nodes, outcomes),
		Failed:     sum(nodes, failed),
		Rounds:     int(s.counters.rounds.Load()),
		Recoveries: int(s.counters.recoveries.Load()),
		Overruns:   int(s.counters.overruns.Load()),
		Reads:      int(s.counters.reads.Load()),
		Sets:       int(s.counters.sets.Load()),
		Abandoned:  int(s.counters.abandoned.Load()),
		Dropped:    int(s.counters.dropped.Load()),
		Failing:    s.syncFailures.len(),
		Held:       s.holds.len(),
		LastRound:  time.Duration(s.counters.lastRound.Load()),
	}
}
