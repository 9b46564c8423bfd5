// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironstate/ironstate/powersync"
)

var (
	syncedDesc = desc("power_sync_nodes_total",
		"Nodes and power requests that this conductor's power sync has handled, by outcome.", "outcome")
	roundsDesc     = desc("power_sync_rounds_total", "Rounds of this conductor's power sync.")
	recoveriesDesc = desc("power_sync_recovery_rounds_total", "Rounds over the nodes in maintenance for a power failure.")
	overrunsDesc   = desc("power_sync_overruns_total", "Rounds of both kinds that took longer than their interval.")
	abandonedDesc  = desc("power_sync_calls_abandoned_total", "Calls of the hardware that did not return in time.")
	roundDesc      = desc("power_sync_last_round_duration_seconds", "Duration of the last round; 0 before the first.")
	failingDesc    = desc("power_sync_nodes_failing", "Nodes of this conductor that the last round failed to handle.")
)

// powerDescs are the descriptions of the metrics of [collectPower].
var powerDescs = []*prometheus.Desc{syncedDesc, roundsDesc, recoveriesDesc, overrunsDesc, abandonedDesc, roundDesc, failingDesc}

// collectPower collects the power sync's counters. An outcome that no node has had is 0.
func collectPower(stats powersync.Stats, to chan<- prometheus.Metric) {
	for outcome, n := range stats.Nodes {
		to <- prometheus.MustNewConstMetric(syncedDesc, prometheus.CounterValue, float64(n), string(outcome))
	}
	for desc, n := range map[*prometheus.Desc]int{
		roundsDesc: stats.Rounds, recoveriesDesc: stats.Recoveries, overrunsDesc: stats.Overruns, abandonedDesc: stats.Abandoned,
	} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n))
	}
	to <- prometheus.MustNewConstMetric(roundDesc, prometheus.GaugeValue, stats.LastRound.Seconds())
	to <- prometheus.MustNewConstMetric(failingDesc, prometheus.GaugeValue, float64(stats.Failing))
}
