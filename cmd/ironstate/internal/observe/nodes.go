// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// nodesCollector is a collector of metrics about nodes, members and the power sync.
type nodesCollector struct{ conductor *conductor.Conductor }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("conductor_"+name, help, labels, nil)
}

// The metrics with several values.
var (
	nodesDesc = desc("nodes", "Nodes of the whole fleet, by provision state.", "provision_state")
	ageDesc   = desc("state_age_seconds",
		"Longest time that a node of the whole fleet has been in this working or waiting provision state; 0 if no node is.", "provision_state")
	overdueDesc = desc("nodes_overdue",
		"Nodes of the whole fleet that have been in this working or waiting provision state for longer than expected.", "provision_state")
	syncedDesc = desc("power_sync_nodes_total",
		"Nodes and power requests that this conductor's power sync has handled, by outcome.", "outcome")
)

// figures has the numbers from which the metrics with one value are computed.
type figures struct {
	counts
	members int
	stats   conductor.Stats
	power   powersync.Stats
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// single is a metric without labels. By Prometheus' convention a counter's name ends in _total.
type single struct {
	name, help string
	value      float64
}

// singles returns the metrics without labels.
func (f *figures) singles() []single {
	return []single{
		{"nodes_in_maintenance", "Nodes of the whole fleet in maintenance.", f.maintenance},
		{"nodes_reserved", "Nodes of the whole fleet that are reserved by a conductor.", f.reserved},
		{"nodes_owned", "Nodes that this conductor owns.", f.owned},
		{"nodes_without_conductor", "Nodes without a live conductor that has their hardware type and group.", f.ownerless},
		{"members", "Live conductors, as seen by this one; 0 while it is not a member.", float64(f.members)},
		{"joins_total", "Times that this conductor has become a member.", float64(f.stats.Joins)},
		{"join_failures_total", "Times that this conductor could not become a member.", float64(f.stats.JoinsFailed)},
		{"memberships_lost_total", "Times that this conductor has lost its membership and abandoned its work.",
			float64(f.stats.MembershipsLost)},
		{"reservations_dropped_total", "Reservations of dead conductors that this conductor has dropped.",
			float64(f.stats.ReservationsDropped)},
		{"locked_retries_total", "Retries of requests for reserved nodes.", float64(f.stats.LockedRetries)},
		{"report_retries_total", "Retries of writes that report the end of work.", float64(f.stats.ReportRetries)},
		{"workers_busy", "Workers that are working on a node.", float64(f.stats.BusyWorkers)},
		{"workers", "Size of this conductor's worker pool.", float64(f.stats.Workers)},
		{"power_sync_rounds_total", "Rounds of this conductor's power sync.", float64(f.power.Rounds)},
		{"power_sync_recovery_rounds_total", "Rounds over the nodes in maintenance for a power failure.", float64(f.power.Recoveries)},
		{"power_sync_overruns_total", "Rounds of both kinds that took longer than their interval.", float64(f.power.Overruns)},
		{"power_sync_calls_abandoned_total", "Calls of the hardware that did not return in time.", float64(f.power.Abandoned)},
		{"power_sync_last_round_duration_seconds", "Duration of the last round; 0 before the first.", f.power.LastRound.Seconds()},
		{"power_sync_nodes_failing", "Nodes of this conductor that the last round failed to handle.", float64(f.power.Failing)},
	}
}

// Describe implements [prometheus.Collector]. It does not wait for the nodes.
func (nodesCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{nodesDesc, ageDesc, overdueDesc, syncedDesc} {
		to <- d
	}
	for _, m := range new(figures).singles() {
		to <- desc(m.name, m.help)
	}
}

// collectTimeout bounds the wait until the conductor has read the nodes from the store.
const collectTimeout = time.Second

// Collect implements [prometheus.Collector]. An outcome that no node has had is 0.
func (f nodesCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	members, cutOff := f.conductor.Members()
	nodes, _ := f.conductor.Nodes(ctx) // nil before the store was read
	now := &figures{f.count(nodes, cutOff == nil), len(members), f.conductor.Stats(), f.conductor.PowerStats()}
	one := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
	for s := range f.conductor.Table().States().All() {
		one(nodesDesc, gauge, now.states[s], s.String())
	}
	for s := range f.conductor.ExpectedTimes() {
		age := 0.0
		if since, ok := now.oldest[s]; ok {
			age = max(time.Since(since).Seconds(), 0)
		}
		one(ageDesc, gauge, age, s.String())
		one(overdueDesc, gauge, now.overdue[s], s.String())
	}
	for outcome, n := range now.power.Nodes {
		one(syncedDesc, counter, float64(n), string(outcome))
	}
	for _, m := range now.singles() {
		kind := gauge
		if strings.HasSuffix(m.name, "_total") {
			kind = counter
		}
		one(desc(m.name, m.help), kind, m.value)
	}
}

// counts are the results of one pass over all nodes.
type counts struct {
	states, overdue                         map[states.State]float64
	oldest                                  map[states.State]time.Time
	maintenance, reserved, owned, ownerless float64
}

// count counts the nodes. Only a member knows the owners of nodes.
func (f nodesCollector) count(nodes []*conductor.Node, member bool) counts {
	expected, now := f.conductor.ExpectedTimes(), time.Now()
	c := counts{states: map[states.State]float64{}, overdue: map[states.State]float64{}, oldest: map[states.State]time.Time{}}
	for _, n := range nodes {
		c.states[n.ProvisionState]++
		since := n.StateSince()
		if expected.Overdue(n.ProvisionState, since, now) {
			c.overdue[n.ProvisionState]++
		}
		if oldest, ok := c.oldest[n.ProvisionState]; !ok || since.Before(oldest) {
			c.oldest[n.ProvisionState] = since
		}
		if n.Maintenance {
			c.maintenance++
		}
		if n.Reservation != "" {
			c.reserved++
		}
		switch owner, ok := f.conductor.Owner(n); {
		case !ok && member:
			c.ownerless++
		case ok && owner.Hostname == f.conductor.Name():
			c.owned++
		}
	}
	return c
}
