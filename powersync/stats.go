package powersync

import (
	"iter"
	"sync/atomic"
	"time"
)

// Stats are a Syncer's counters since it was made, and its gauges as they are
// now. It is made for exporters: package expvar takes it as it is, through
// [expvar.Func], and Metrics names each number for those who want names.
type Stats struct {
	Nodes      Counts        `json:"nodes"` // outcomes, those of rounds under way included
	Rounds     int           `json:"rounds"`
	Recoveries int           `json:"recoveries"` // recovery rounds
	Overruns   int           `json:"overruns"`   // rounds of both kinds that overran
	Reads      int           `json:"reads"`      // calls of Driver.PowerState
	Sets       int           `json:"sets"`       // calls of Driver.SetPower
	Abandoned  int           `json:"abandoned"`  // calls that the Driver did not return from in time
	Dropped    int           `json:"dropped"`    // calls of OnEvent, OnReport and the Logger that failed or were not made
	Failing    int           `json:"failing"`    // gauge: nodes whose last attempt in a sync round failed
	Held       int           `json:"held"`       // gauge: nodes that this Syncer holds
	LastRound  time.Duration `json:"last_round_ns"`
}

// Metric is one number of [Stats], named as Prometheus would have it.
type Metric struct {
	Name    string // "powersync_rounds_total"
	Help    string
	Counter bool   // it only grows; otherwise a gauge
	Outcome string // the label "outcome"; empty where there is none
	Value   float64
}

// Metrics ranges over the numbers, those of one name together. Outcomes that no
// node ever had are zero, not absent.
func (s Stats) Metrics() iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		for o := NoOutcome + 1; o < numAllOutcomes; o++ {
			nodes := Metric{"powersync_nodes_total", "Nodes by what became of them.", true, o.String(), float64(s.Nodes.Of(o))}
			if !yield(nodes) {
				return
			}
		}
		for _, m := range []Metric{
			{"powersync_rounds_total", "Sync rounds.", true, "", float64(s.Rounds)},
			{"powersync_recovery_rounds_total", "Recovery rounds.", true, "", float64(s.Recoveries)},
			{"powersync_overruns_total", "Rounds that took longer than their interval.", true, "", float64(s.Overruns)},
			{"powersync_reads_total", "Power states asked for.", true, "", float64(s.Reads)},
			{"powersync_sets_total", "Power states set.", true, "", float64(s.Sets)},
			{"powersync_abandoned_total", "Calls that the driver did not return from in time.", true, "", float64(s.Abandoned)},
			{"powersync_dropped_total", "Calls of callbacks that failed or were not made.", true, "", float64(s.Dropped)},
			{"powersync_failing_nodes", "Nodes whose last attempt failed.", false, "", float64(s.Failing)},
			{"powersync_held_nodes", "Nodes held for a change of power.", false, "", float64(s.Held)},
			{"powersync_last_round_seconds", "How long the last sync round took.", false, "", s.LastRound.Seconds()},
		} {
			if !yield(m) {
				return
			}
		}
	}
}

// counters are the source of Stats.
type counters struct {
	nodes     [numAllOutcomes]atomic.Int64
	rounds    [numRounds]atomic.Int64
	overruns  atomic.Int64
	reads     atomic.Int64
	sets      atomic.Int64
	abandoned atomic.Int64
	dropped   atomic.Int64
	lastRound atomic.Int64 // nanoseconds
}

func (c *counters) add(r Report) {
	c.rounds[r.Round].Add(1)
	if r.Overran {
		c.overruns.Add(1)
	}
	if r.Round == SyncRound {
		c.lastRound.Store(int64(r.Took))
	}
}

// Stats returns the counters as they are now. It is cheap, and safe to call at
// any time.
func (s *Syncer) Stats() Stats {
	if s == nil {
		return Stats{}
	}
	stats := Stats{
		Rounds:     int(s.counters.rounds[SyncRound].Load()),
		Recoveries: int(s.counters.rounds[RecoveryRound].Load()),
		Overruns:   int(s.counters.overruns.Load()),
		Reads:      int(s.counters.reads.Load()),
		Sets:       int(s.counters.sets.Load()),
		Abandoned:  int(s.counters.abandoned.Load()),
		Dropped:    int(s.counters.dropped.Load()),
		Failing:    s.syncFailures.len(),
		Held:       s.holds.len(),
		LastRound:  time.Duration(s.counters.lastRound.Load()),
	}
	for o := range stats.Nodes.n {
		stats.Nodes.n[o] = int(s.counters.nodes[o].Load())
	}
	return stats
}
