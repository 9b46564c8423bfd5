// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"github.com/ironstate/ironstate/states"
)

// tokens checks the tokens of agents: a lookup gives out the token that is stored, each token is given out once, and
// one wait for an agent has one token. Together that says that at most one lookup gets a token during a wait.
func (c *checker) tokens() {
	for id, versions := range c.Nodes {
		token := "" // of the present wait
		for _, v := range versions {
			switch {
			case !c.waitsOnce(id, v):
				token = ""
			case token == "":
				token = v.Token
			case v.Token != "" && v.Token != token:
				c.find("tokens", id, "at revision %d it has a second token in %q", v.Revision, v.State)
			}
		}
	}
	for id, given := range c.Given {
		again, unknown := 0, 0
		for i, token := range given {
			if slices.Contains(given[:i], token) {
				again++
			}
			if !slices.ContainsFunc(c.Nodes[id], func(v Version) bool { return v.Token == token }) {
				unknown++
			}
		}
		if again > 0 {
			c.find("tokens", id, "%d of %d lookups got a token that was given out before", again, len(given))
		}
		if unknown > 0 {
			c.find("tokens", id, "%d of %d lookups got a token that was never stored", unknown, len(given))
		}
	}
}

// waitsOnce reports whether a node waits for the agent of one boot. An inspection boots one agent, and other work may
// boot the machine of an agent again while the node waits.
func (c *checker) waitsOnce(id string, v Version) bool {
	return v.State == states.InspectWait || c.Machines[id].Deserted && c.Table.Phase(v.State) == states.PhaseWaiting
}

// deserted checks a node whose machine never boots an agent: no work that needs an agent succeeds.
func (c *checker) deserted(id string, versions []Version) {
	for i := 1; i < len(versions); i++ {
		before, now := versions[i-1].State, versions[i].State
		failed, _ := c.Table.Next(working(before), states.EventFail)
		if withAgent.Has(working(before)) && working(now) != working(before) && now != failed {
			c.find("machines", id, "it left %q for %q at revision %d, and no agent has ever run there", before, now, versions[i].Revision)
		}
	}
}

// withAgent are the states of the work that an agent does.
var withAgent = states.SetOf(states.Inspecting, states.Cleaning, states.Deploying, states.Servicing, states.Rescuing)
