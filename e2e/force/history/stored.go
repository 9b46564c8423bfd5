// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// stored checks the writes and the reservations of a node.
func (c *checker) stored(id string, versions []Version) {
	for i, now := range versions {
		for _, broken := range now.Broken {
			c.find("writes", id, "at revision %d %s", now.Revision, broken)
		}
		if i == 0 {
			continue
		}
		before := versions[i-1]
		if now.Revision <= before.Revision {
			c.find("writes", id, "revision %d comes after %d", now.Revision, before.Revision)
		}
		c.claims(id, before, now)
	}
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
		return // Broken has it
	}
	orphaned := c.failsOrphan(before, now)
	if orphaned && !c.leaseEnded(before.Claim, now.Revision) {
		c.find("claims", id, "the work of %s was ended at revision %d as if its process were dead, while its lease lasted",
			c.who(before), now.Revision)
	}
	if !orphaned && before.setsPower() && now.TargetPower != states.NoPower {
		c.find("claims", id, "the power reservation of %s was dropped at revision %d with the target %q",
			c.who(before), now.Revision, now.TargetPower)
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
