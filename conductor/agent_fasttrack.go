// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"fmt"
	"time"

	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/states"
)

// fastTracks reports whether fast track is on for a node: whether an agent that runs when work begins does that work,
// without a boot. The key fast_track of driver_info overrides the configuration.
//
// Source: fast_track_enabled in ironic/common/utils.py.
func (c *Config) fastTracks(n *Node) (bool, error) {
	value := n.DriverInfo["fast_track"]
	if value == nil {
		return c.FastTrack, nil
	}
	on, ok := oslobool.Parse(fmt.Sprint(value))
	if !ok {
		return false, refuse(Invalid, "Invalid value of fast_track: %v", value)
	}
	return on, nil
}

// idleWithAgent are the stable states in which a node's agent may stay for the next work.
var idleWithAgent = states.SetOf(states.Enroll, states.Manageable, states.Available)

// agentStays reports whether the agent of a node may stay at a request that moves the node from one state to another.
func agentStays(from, to states.State) bool {
	return idleWithAgent.Has(from) && (idleWithAgent.Has(to) || kindOf(to).agent.reused)
}

// agentHeard reports whether the node's agent has sent a heartbeat or inspection data within the timeout. The clock of
// the conductor that stored the time may be ahead.
//
// Source: agent_is_alive in ironic/conductor/utils.py, which takes also the end of an inspection by the BMC for a sign
// of life.
func (n *Node) agentHeard(at time.Time, timeout time.Duration) bool {
	return at.Sub(n.Agent.LastHeartbeat).Abs() <= timeout
}

// KeepsAgent reports whether the machine stays on at the end of the task's work, with the agent that runs: by fast
// track the agent does the next work without another boot.
func (t *Task) KeepsAgent() bool { return t.engine.rules.keepsAgent(t.Node(), now()) }
