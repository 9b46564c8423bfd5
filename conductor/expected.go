// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/states"
)

// ExpectedTimes has the times that nodes may be in working and waiting states. A node that is in such a state for
// longer is overdue: a person should look at it. A state without a time, or with 0, has no overdue nodes. Ironic has no
// such times; its timeouts, see [machine.Timeouts], end a wait without a heartbeat, whereas an expected time changes
// nothing on the node.
type ExpectedTimes map[states.State]time.Duration

// Overdue reports whether a node is overdue now that has been in a state since a time.
func (e ExpectedTimes) Overdue(s states.State, since, now time.Time) bool {
	return e[s] > 0 && now.Sub(since) > e[s]
}

// check returns an error unless all states are working or waiting ones of the table, and no time is negative.
func (e ExpectedTimes) check(t *states.Table) error {
	var allowed []string
	for s := range t.States().All() {
		if hasExpectedTime(t, s) {
			allowed = append(allowed, s.String())
		}
	}
	for _, s := range slices.Sorted(maps.Keys(e)) {
		switch limit := e[s]; {
		case !hasExpectedTime(t, s):
			return fmt.Errorf("%q is no working or waiting state of %v, which are %s", s, t.Series(), strings.Join(allowed, ", "))
		case limit < 0:
			return fmt.Errorf("the time %v of %q is negative: want 0 or more", limit, s)
		}
	}
	return nil
}

// hasExpectedTime reports whether work ends a state of nodes, and not a client.
func hasExpectedTime(t *states.Table, s states.State) bool {
	phase := t.Phase(s)
	return phase == states.PhaseWorking || phase == states.PhaseWaiting
}

// withTimeouts returns the configured times, and for the other states the times that the timeouts suggest: for the
// states of work that waits for a call-back the timeout of the wait.
func (c *Config) withTimeouts() ExpectedTimes {
	all := ExpectedTimes{}
	for w := range states.AllWorks() {
		limit := c.Timeouts.Of(w)
		if works[w].expected != nil {
			limit = works[w].expected(c)
		}
		for s := range w.InProgress().All() {
			if hasExpectedTime(c.Table, s) {
				all[s] = max(limit, 0)
			}
		}
	}
	maps.Copy(all, c.ExpectedTimes)
	return all
}

// ExpectedTimes returns the times of Config.ExpectedTimes, and the defaults of the other states. The caller owns the
// map.
func (c *Conductor) ExpectedTimes() ExpectedTimes { return maps.Clone(c.config.ExpectedTimes) }

// StateSince returns the time since when the node is in its provision state. Unlike ProvisionUpdatedAt, a heartbeat
// does not change it, unless the record has lost the transition to the state.
func (n *Node) StateSince() time.Time {
	if last := len(n.Transitions) - 1; last >= 0 && n.Transitions[last].To == n.ProvisionState {
		return n.Transitions[last].Time
	}
	if n.ProvisionUpdatedAt != nil {
		return *n.ProvisionUpdatedAt
	}
	return n.CreatedAt
}
