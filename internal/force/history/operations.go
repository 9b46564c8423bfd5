package history

import (
	"slices"
	"time"
)

// operations checks what was done on the hardware.
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
}

// reserved checks that each operation was begun by the conductor that had the node.
func (c *checker) reserved(id string, operations []Operation) {
	versions := c.Nodes[id]
	for _, o := range operations {
		i, ok := slices.BinarySearchFunc(versions, o.Revision, func(v Version, revision int64) int { return int(v.Revision - revision) })
		if !ok {
			c.find("operations", id, "%s began %s for revision %d, which was never stored", o.Conductor, o.Name, o.Revision)
			continue
		}
		if v := versions[i]; v.Claim == "" || v.Claim != o.Claim || c.Terms[member(v.Claim)].Conductor != o.Conductor {
			c.find("operations", id, "%s began %s for revision %d, at which the node was reserved by %q", o.Conductor, o.Name, o.Revision, v.Claim)
			continue
		}
		for _, v := range versions[i+1:] {
			if v.Claim == o.Claim {
				continue
			}
			if o.Begin.After(v.Stored.Add(clock)) {
				c.find("operations", id, "%s began %s at %s, %v after its reservation was dropped at revision %d",
					o.Conductor, o.Name, o.Begin.Format(timeFormat), o.Begin.Sub(v.Stored).Round(clock), v.Revision)
			}
			break
		}
	}
}

// once checks that no operation was begun twice for a piece of work.
func (c *checker) once(id string, operations []Operation) {
	versions := c.Nodes[id]
	type work struct{ name, moved, power string }
	begun := map[work]Operation{}
	for _, o := range operations {
		i, ok := slices.BinarySearchFunc(versions, o.Revision, func(v Version, revision int64) int { return int(v.Revision - revision) })
		if !ok {
			continue // see reserved
		}
		key := work{name: o.Name, moved: versions[i].Moved}
		if isPower(o.Claim) {
			key.power = versions[i].Updated.String()
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

// lastMoment returns when an operation has ended, or when its process was stopped or
// killed for the first time while it went on.
func (c *checker) lastMoment(o Operation) time.Time {
	end := o.End
	for _, outage := range c.Outages {
		if outage.Conductor == o.Conductor && outage.End.After(o.Begin) && outage.Begin.Before(end) {
			end = outage.Begin
		}
	}
	return end
}
