// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/ironstate/ironstate/states"
)

// operations checks the operations on the hardware.
func (c *checker) operations() {
	byNode := map[string][]Operation{}
	for _, o := range c.Operations {
		byNode[o.Node] = append(byNode[o.Node], o)
	}
	for id, operations := range byNode {
		slices.SortFunc(operations, func(a, b Operation) int { return a.Begin.Compare(b.Begin) })
		c.reserved(id, operations)
		c.once(id, operations)
		c.oneAtATime(id, operations)
	}
	for id, versions := range c.Nodes {
		if _, ok := c.Machines[id]; !ok {
			c.complete(id, versions, byNode[id])
		}
	}
}

// complete checks that work that has succeeded has had all its operations.
func (c *checker) complete(id string, versions []Version, operations []Operation) {
	type operation struct{ name, moved string }
	begun := map[operation]bool{}
	for _, o := range operations {
		if i, ok := at(versions, o.Revision); ok {
			begun[operation{o.Name, versions[i].Moved}] = true
		}
	}
	for i := 1; i < len(versions); i++ {
		last, end := versions[i-1], versions[i]
		failed, _ := c.Table.Next(last.State, states.EventFail)
		automatic := last.State == states.Cleaning && last.Target != states.Manageable
		if last.State == end.State || !c.hasWork(last) || end.State == failed || automatic {
			continue
		}
		for _, name := range c.Work[last.State.Work()] {
			if !begun[operation{name, last.Moved}] {
				c.find("operations", id, "the work of %q ended in %q at revision %d, and %s was not done for it",
					last.State, end.State, end.Revision, name)
			}
		}
	}
}

// at returns the index of the version with a revision.
func at(versions []Version, revision int64) (i int, ok bool) {
	return slices.BinarySearchFunc(versions, revision, func(v Version, revision int64) int { return cmp.Compare(v.Revision, revision) })
}

// reserved checks that each operation was begun by the conductor that had reserved the
// node.
func (c *checker) reserved(id string, operations []Operation) {
	versions := c.Nodes[id]
	for _, o := range operations {
		i, ok := at(versions, o.Revision)
		if !ok {
			c.find("operations", id, "%s began %s for revision %d, which was never stored", o.Conductor, o.Name, o.Revision)
			continue
		}
		if v := versions[i]; v.Claim == "" || v.Claim != o.Claim || c.Memberships[v.Claim].Conductor != o.Conductor {
			c.find("operations", id, "%s began %s for revision %d, at which the node was reserved by %q", o.Conductor, o.Name, o.Revision, v.Claim)
			continue
		}
		for _, v := range versions[i+1:] {
			if v.Claim == o.Claim {
				continue
			}
			if o.Begin.After(v.Stored.Add(clock)) && !c.inFlight(o) {
				c.find("operations", id, "%s began %s at %s, %v after its reservation was dropped at revision %d",
					o.Conductor, o.Name, o.Begin.Format(timeFormat), o.Begin.Sub(v.Stored).Round(clock), v.Revision)
			}
			break
		}
	}
}

// inFlight reports whether an operation's process was stopped after it had asked for the
// operation, and before the operation began.
func (c *checker) inFlight(o Operation) bool {
	return slices.ContainsFunc(c.Outages, func(outage Outage) bool {
		return outage.Conductor == o.Conductor && o.Asked.Before(outage.Begin.Add(clock)) && outage.Begin.Before(o.Begin)
	})
}

// once checks that no operation was begun twice for a step of a piece of work.
func (c *checker) once(id string, operations []Operation) {
	versions := c.Nodes[id]
	type work struct{ name, moved, step, power string }
	begun := map[work]Operation{}
	for _, o := range operations {
		i, ok := at(versions, o.Revision)
		if !ok {
			continue // a finding of reserved
		}
		v := versions[i]
		key := work{name: o.Name, moved: v.Moved, step: v.Step}
		if v.setsPower() {
			key.power = v.Updated.String()
		}
		if first, ok := begun[key]; ok {
			c.find("operations", id, "%s was begun by %s at %s and by %s at %s, for the same work", o.Name,
				first.Conductor, first.Begin.Format(timeFormat), o.Conductor, o.Begin.Format(timeFormat))
		}
		begun[key] = o
	}
}

// oneAtATime checks that no two conductors were at work on a node.
func (c *checker) oneAtATime(id string, operations []Operation) {
	for i, o := range operations {
		end := c.lastMoment(o)
		for _, next := range operations[i+1:] {
			if next.Begin.Add(clock).After(end) {
				break
			}
			if next.Conductor != o.Conductor {
				c.find("operations", id, "%s began %s at %s, while %s was at %s until %s", next.Conductor, next.Name,
					next.Begin.Format(timeFormat), o.Conductor, o.Name, end.Format(timeFormat))
			}
		}
	}
}

// lastMoment returns the end of an operation, or the beginning of the first outage of its
// process during the operation.
func (c *checker) lastMoment(o Operation) time.Time {
	end := o.End
	for _, outage := range c.Outages {
		if outage.Conductor == o.Conductor && outage.End.After(o.Begin) && outage.Begin.Before(end) {
			end = outage.Begin
		}
	}
	return end
}
