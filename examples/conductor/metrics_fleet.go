package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// fleet counts nodes and members when Prometheus asks.
type fleet struct{ conductor *conductor.Conductor }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("conductor_"+name, help, labels, nil)
}

var (
	nodesDesc       = desc("nodes", "Nodes of the whole fleet, by provision state.", "provision_state")
	oldestDesc      = desc("work_oldest_age_seconds", "Time since the node of the whole fleet that is longest in a provision state with work, or waiting for a call-back, has entered it; 0 where none is.", "provision_state")
	maintenanceDesc = desc("nodes_in_maintenance", "Nodes of the whole fleet in maintenance.")
	reservedDesc    = desc("nodes_reserved", "Nodes of the whole fleet that a conductor works on.")
	ownedDesc       = desc("nodes_owned", "Nodes that this conductor works on when there is work.")
	ownerlessDesc   = desc("nodes_without_conductor", "Nodes that no conductor alive has the hardware type and the group for.")
	membersDesc     = desc("members", "Conductors that are alive as far as this one knows; 0 while it is cut off.")
	joinsDesc       = desc("joins_total", "Times that this conductor has become a member.")
	joinsFailedDesc = desc("join_failures_total", "Times that this conductor could not become a member.")
	lostDesc        = desc("memberships_lost_total", "Times that this conductor was cut off and has given its work up.")
	droppedDesc     = desc("reservations_dropped_total", "Reservations of conductors that had died which this one has dropped.")
	lockedDesc      = desc("locked_retries_total", "Times that a request was tried again since somebody worked on the node.")
	reportsDesc     = desc("report_retries_total", "Times that the end of work was stored again since the store did not take it.")
	busyDesc        = desc("workers_busy", "Workers that work on a node.")
	workersDesc     = desc("workers", "Workers that this conductor may use at once.")
)

// Describe implements [prometheus.Collector]. It does not wait for the nodes.
func (f fleet) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		nodesDesc, oldestDesc, maintenanceDesc, reservedDesc, ownedDesc, ownerlessDesc, membersDesc,
		joinsDesc, joinsFailedDesc, lostDesc, droppedDesc, lockedDesc, reportsDesc, busyDesc, workersDesc,
	} {
		to <- desc
	}
}

// collectTimeout bounds the wait for the nodes, which are there once the store was read.
const collectTimeout = time.Second

// Collect implements [prometheus.Collector].
func (f fleet) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	members, cutOff := f.conductor.Members(ctx)
	nodes, _ := f.conductor.Nodes(ctx) // none before the store was read
	counted := f.count(nodes, cutOff == nil)
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	table := f.conductor.Table()
	for s := range table.States().All() {
		gauge(nodesDesc, counted.states[s], s.String())
	}
	for s := range table.States().All() {
		if !table.Stuck().Has(s) && table.Phase(s) != states.PhaseWaiting {
			continue
		}
		age := 0.0
		if since, ok := counted.oldest[s]; ok {
			age = max(time.Since(since).Seconds(), 0)
		}
		gauge(oldestDesc, age, s.String())
	}
	gauge(maintenanceDesc, counted.maintenance)
	gauge(reservedDesc, counted.reserved)
	gauge(ownedDesc, counted.owned)
	gauge(ownerlessDesc, counted.ownerless)
	gauge(membersDesc, float64(len(members)))
	f.collectStats(to)
}

// counts are what a look at all nodes finds.
type counts struct {
	states                                  map[states.State]float64
	oldest                                  map[states.State]time.Time
	maintenance, reserved, owned, ownerless float64
}

// count looks at all nodes. Whose they are is known to members alone.
func (f fleet) count(nodes []*conductor.Node, member bool) counts {
	c := counts{states: map[states.State]float64{}, oldest: map[states.State]time.Time{}}
	for _, n := range nodes {
		c.states[n.ProvisionState]++
		since := n.CreatedAt
		if n.ProvisionUpdatedAt != nil {
			since = *n.ProvisionUpdatedAt
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

// collectStats tells what the conductor itself has counted.
func (f fleet) collectStats(to chan<- prometheus.Metric) {
	stats := f.conductor.Stats()
	for desc, value := range map[*prometheus.Desc]int64{
		joinsDesc: stats.Joins, joinsFailedDesc: stats.JoinsFailed, lostDesc: stats.MembershipsLost,
		droppedDesc: stats.ReservationsDropped, lockedDesc: stats.LockedRetries, reportsDesc: stats.ReportRetries,
	} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value))
	}
	to <- prometheus.MustNewConstMetric(busyDesc, prometheus.GaugeValue, float64(stats.BusyWorkers))
	to <- prometheus.MustNewConstMetric(workersDesc, prometheus.GaugeValue, float64(stats.Workers))
}

// etcdMetrics are those of the etcd in this process that tell whether its disk is slow
// or its database is full.
var etcdMetrics = map[string]bool{
	"etcd_mvcc_db_total_size_in_bytes": true, "etcd_mvcc_db_total_size_in_use_in_bytes": true,
	"etcd_server_quota_backend_bytes":           true,
	"etcd_disk_wal_fsync_duration_seconds":      true,
	"etcd_disk_backend_commit_duration_seconds": true,
}

// gatherEtcd returns the metrics of the etcd in this process: none without -data.
func gatherEtcd() ([]*dto.MetricFamily, error) {
	all, err := prometheus.DefaultGatherer.Gather()
	var chosen []*dto.MetricFamily
	for _, family := range all {
		if etcdMetrics[family.GetName()] {
			chosen = append(chosen, family)
		}
	}
	return chosen, err
}
