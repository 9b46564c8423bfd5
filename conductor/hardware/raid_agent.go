// SPDX-License-Identifier: Apache-2.0

package hardware

// AgentRAID returns the RAID interface "agent": the RAID is made by steps of the agent that a client or a deploy
// template requests, such as raid.create_configuration.
//
// Source: AgentRAID in ironic/drivers/modules/agent.py.
func AgentRAID() Interface { return agentRAID{storedRAID{"agent"}} }

type agentRAID struct{ storedRAID }

// StepsInBand implements [InBandStepper].
func (agentRAID) StepsInBand(Node) bool { return true }
