// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// nodesCollector is a collector of metrics about nodes and members.
type nodesCollector struct{ conductor *conductor.Conductor }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("conductor_"+name, help, labels, nil)
}

var (
	nodesDesc = desc("nodes", "Nodes of the whole fleet, by provision state.", "provision_state")
	ageDesc   = desc("state_age_seconds",
		"Longest time that a node of the whole fleet has been in this working or waiting provision state; 0 if no node is.", "provision_state")
	overdueDesc = desc("nodes_overdue",
		"Nodes of the whole fleet that have been in this working or waiting provision state for longer than expected.", "provision_state")
	maintenanceDesc = desc("nodes_in_maintenance", "Nodes of the whole fleet in maintenance.")
	reservedDesc    = desc("nodes_reserved", "Nodes of the whole fleet that are reserved by a conductor.")
	ownedDesc       = desc("nodes_owned", "Nodes that this conductor owns.")
	ownerlessDesc   = desc("nodes_without_conductor", "Nodes without a live conductor that has their hardware type and group.")
	membersDesc     = desc("members", "Live conductors, as seen by this one; 0 while it is not a member.")
	joinsDesc       = desc("joins_total", "Times that this conductor has become a member.")
	joinsFailedDesc = desc("join_failures_total", "Times that this conductor could not become a member.")
	lostDesc        = desc("memberships_lost_total", "Times that this conductor has lost its membership and abandoned its work.")
	droppedDesc     = desc("reservations_dropped_total", "Reservations of dead conductors that this conductor has dropped.")
	lockedDesc      = desc("locked_retries_total", "Retries of requests for reserved nodes.")
	reportsDesc     = desc("report_retries_total", "Retries of writes that report the end of work.")
	busyDesc        = desc("workers_busy", "Workers that are working on a node.")
	workersDesc     = desc("workers", "Size of this conductor's worker pool.")
)

// Describe implements [prometheus.Collector]. It does not wait for the nodes.
func (f nodesCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range append([]*prometheus.Desc{
		nodesDesc, ageDesc, overdueDesc, maintenanceDesc, reservedDesc, ownedDesc, ownerlessDesc, membersDesc,
		joinsDesc, joinsFailedDesc, lostDesc, droppedDesc, lockedDesc, reportsDesc, busyDesc, workersDesc,
	}, powerDescs...) {
		to <- desc
	}
}

// collectTimeout bounds the wait until the conductor has read the nodes from the store.
const collectTimeout = time.Second

// Collect implements [prometheus.Collector].
func (f nodesCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	members, cutOff := f.conductor.Members(ctx)
	nodes, _ := f.conductor.Nodes(ctx) // nil before the store was read
	counted := f.count(nodes, cutOff == nil)
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	table := f.conductor.Table()
	for s := range table.States().All() {
		gauge(nodesDesc, counted.states[s], s.String())
	}
	for s := range f.conductor.ExpectedTimes() {
		age := 0.0
		if since, ok := counted.oldest[s]; ok {
			age = max(time.Since(since).Seconds(), 0)
		}
		gauge(ageDesc, age, s.String())
		gauge(overdueDesc, counted.overdue[s], s.String())
	}
	gauge(maintenanceDesc, counted.maintenance)
	gauge(reservedDesc, counted.reserved)
	gauge(ownedDesc, counted.owned)
	gauge(ownerlessDesc, counted.ownerless)
	gauge(membersDesc, float64(len(members)))

	stats := f.conductor.Stats()
	gauge(busyDesc, float64(stats.BusyWorkers))
	gauge(workersDesc, float64(stats.Workers))
	for desc, value := range map[*prometheus.Desc]int64{
		joinsDesc: stats.Joins, joinsFailedDesc: stats.JoinsFailed, lostDesc: stats.MembershipsLost,
		droppedDesc: stats.ReservationsDropped, lockedDesc: stats.LockedRetries, reportsDesc: stats.ReportRetries,
	} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value))
	}
	collectPower(f.conductor.PowerStats(), to)
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
