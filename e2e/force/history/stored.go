// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// stored checks the transitions and the reservations of a node.
func (c *checker) stored(id string, versions []Version) {
	for i, now := range versions {
		if i == 0 {
			continue
		}
		before := versions[i-1]
		if now.Revision <= before.Revision {
			c.find("transitions", id, "revision %d comes after %d", now.Revision, before.Revision)
		}
		if before.State != now.State && !c.follows(before.State, now.State) {
			c.find("transitions", id, "%q was stored after %q, at revision %d", now.State, before.State, now.Revision)
		}
		c.claims(id, before, now)
	}
}

// follows reports whether one write may lead from a state to another: by one row of the
// table, or by the two rows of an abort of a service.
func (c *checker) follows(from, to states.State) bool {
	for row := range c.Table.Transitions() {
		if row.From == from && row.To == to {
			return true
		}
	}
	return (from == states.ServiceWait || from == states.ServiceHold) && to == states.Active
}

// claims checks a change of the reservation from one version to the next.
func (c *checker) claims(id string, before, now Version) {
	switch {
	case now.Claim == before.Claim:
		return
	case before.Claim == "":
		if _, ok := c.Memberships[now.Claim]; !ok {
			c.find("claims", id, "reserved at revision %d by %s, which never was a member", now.Revision, now.Claim)
		}
		return
	case now.Claim != "":
		c.find("claims", id, "the reservation of %s passed to %s at revision %d without being dropped", c.who(before), c.who(now), now.Revision)
		return
	}
	orphaned := c.failsOrphan(before, now)
	if orphaned && !c.leaseEnded(before.Claim, now.Revision) {
		c.find("claims", id, "the work of %s was ended at revision %d as that of a dead process, while its lease lasted", c.who(before), now.Revision)
	}
	if !orphaned && now.State == before.State && c.hasWork(before) {
		c.find("claims", id, "the reservation of %s was dropped at revision %d in %q without an end of the work", c.who(before), now.Revision, now.State)
	}
	if !orphaned && before.setsPower() && now.TargetPower != states.NoPower {
		c.find("claims", id, "the power reservation of %s was dropped at revision %d with the target %q", c.who(before), now.Revision, now.TargetPower)
	}
}

// hasWork reports whether a version has a reservation for the work of its state.
func (c *checker) hasWork(v Version) bool {
	return v.Claim != "" && !v.setsPower() && c.Table.Stuck().Has(v.State)
}

// failsOrphan reports whether the write from one version to the next ends the work of a process
// that is considered dead. The sign is a new last error, or the dropped reservation of a
// verification, which another conductor then repeats.
func (c *checker) failsOrphan(before, now Version) bool {
	text, stuck := machine.Node{State: before.State}.Orphaned(c.Table)
	return stuck && now.LastError == text && now.State != before.State ||
		before.TargetPower != states.NoPower && now.TargetPower == states.NoPower &&
			now.LastError != before.LastError && strings.Contains(now.LastError, "died") ||
		before.State == states.Verifying && now.State == states.Verifying && c.leaseEnded(before.Claim, now.Revision)
}

// leaseEnded reports whether the lease of a claim's holder had ended at a revision.
func (c *checker) leaseEnded(claim string, at int64) bool {
	membership, ok := c.Memberships[claim]
	return ok && membership.Ended != 0 && membership.Ended < at
}

// who names the holder of a version's reservation.
func (c *checker) who(v Version) string {
	return c.Memberships[v.Claim].Conductor + " (" + v.Claim + ")"
}

// setsPower reports whether a reservation is for a change of power.
func (v Version) setsPower() bool { return v.TargetPower != states.NoPower }

// Idle reports whether a node is not reserved, has no work, does not wait, and has no
// target power state.
func Idle(table *states.Table, v Version) bool {
	return v.Claim == "" && v.TargetPower == states.NoPower && !table.Stuck().Has(v.State) && table.Phase(v.State) != states.PhaseWaiting
}
