// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
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

// fastTrack reports whether the agent that runs on the task's machine does the work that begins, and reads its steps:
// fast track is on, the agent's last heartbeat is recent, the machine is on, and the agent is idle. Otherwise the
// record forgets the agent, and the machine has to boot one.
//
// Source: is_fast_track in ironic/conductor/utils.py.
func (r *stepsRun) fastTrack(ctx context.Context) (bool, error) {
	n := r.task.Node()
	on, err := r.task.engine.config.fastTracks(n)
	if !on {
		return false, err
	}
	if n.Agent.URL == "" || !n.agentHeard(now(), r.task.engine.config.FastTrackTimeout) {
		return false, r.task.ForgetAgent(ctx)
	}
	if power := r.task.engine.readPower(ctx, r.task.hardware, n); power.Err != nil || power.Power != states.PowerOn {
		return false, r.task.ForgetAgent(ctx)
	}
	if err := r.task.refreshAgentSteps(ctx); err != nil {
		r.task.engine.config.Log.Warn("an agent that runs cannot do the next work", "node", n.UUID, "error", err)
		return false, r.task.ForgetAgent(ctx)
	}
	return true, nil
}

// KeepsAgent reports whether the machine stays on at the end of the task's work, with the agent that runs: by fast
// track the agent does the next work without another boot.
func (t *Task) KeepsAgent() bool { return t.engine.rules.keepsAgent(t.Node(), now()) }
