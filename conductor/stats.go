// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"sync/atomic"

	"github.com/ironstate/ironstate/powersync"
)

// Stats are a conductor's counters since [New], and the use of its worker pool, for a
// metrics endpoint. To measure conflicts, errors and latencies of the store, wrap the
// configured [Store].
type Stats struct {
	// Joins counts how often the conductor has become a member, JoinsFailed its failed
	// attempts, and MembershipsLost how often it lost its membership and abandoned its
	// work.
	Joins, JoinsFailed, MembershipsLost int64
	// ReservationsDropped counts the dropped reservations of conductors that had died.
	ReservationsDropped int64
	// LockedRetries counts the retries of requests for reserved nodes.
	LockedRetries int64
	// ReportRetries counts the retries of writes that report the end of work.
	ReportRetries int64
	// BusyWorkers is the number of workers that are working on a node now, Workers the
	// size of the pool.
	BusyWorkers, Workers int
}

type counters struct {
	joins, joinsFailed, membershipsLost, reservationsDropped, reportRetries,
	powerReads, powerSets, powerAbandoned atomic.Int64
}

// Stats returns the current values.
func (c *Conductor) Stats() Stats {
	return Stats{
		Joins: c.engine.counters.joins.Load(), JoinsFailed: c.engine.counters.joinsFailed.Load(),
		MembershipsLost:     c.engine.counters.membershipsLost.Load(),
		ReservationsDropped: c.engine.counters.reservationsDropped.Load(),
		LockedRetries:       c.fleet.retried.Load(),
		ReportRetries:       c.engine.counters.reportRetries.Load(),
		BusyWorkers:         c.engine.pool.Busy(), Workers: c.config.Workers,
	}
}

// PowerStats returns the current values of the power sync, power requests included.
func (c *Conductor) PowerStats() powersync.Stats {
	stats, counters := c.engine.syncer.Stats(), c.engine.counters
	stats.Reads = int(counters.powerReads.Load())
	stats.Sets = int(counters.powerSets.Load())
	stats.Abandoned = int(counters.powerAbandoned.Load())
	return stats
}
