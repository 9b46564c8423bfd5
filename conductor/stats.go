package conductor

import "sync/atomic"

// Stats are what a conductor has counted since [New] made it, and how many workers it
// has, for a metrics endpoint. Conflicts, errors and latencies of the store are seen by
// a [Store] around the configured one.
type Stats struct {
	// Joins is how often the conductor has become a member, JoinsFailed how often it
	// has tried in vain, and MembershipsLost how often it stopped being a member
	// against its will and gave its work up.
	Joins, JoinsFailed, MembershipsLost int64
	// ReservationsDropped counts the reservations of conductors that had died.
	ReservationsDropped int64
	// LockedRetries counts the requests that were tried again because somebody worked
	// on the node, once for each time.
	LockedRetries int64
	// ReportRetries counts the ends of work that the store did not take and that were
	// stored again, once for each time.
	ReportRetries int64
	// BusyWorkers are the workers that work on a node at the moment, of all Workers.
	BusyWorkers, Workers int
}

// counters are what [Stats] is made of.
type counters struct {
	joins, joinsFailed, membershipsLost, reservationsDropped, lockedRetries, reportRetries atomic.Int64
}

// Stats returns the counts as they are now. Those of a nil or zero Conductor are 0.
func (c *Conductor) Stats() Stats {
	if c == nil || c.tasks == nil {
		return Stats{}
	}
	return Stats{
		Joins: c.counters.joins.Load(), JoinsFailed: c.counters.joinsFailed.Load(),
		MembershipsLost:     c.counters.membershipsLost.Load(),
		ReservationsDropped: c.counters.reservationsDropped.Load(),
		LockedRetries:       c.counters.lockedRetries.Load(),
		ReportRetries:       c.counters.reportRetries.Load(),
		BusyWorkers:         c.tasks.count(), Workers: c.config.Workers,
	}
}
