// SPDX-License-Identifier: Apache-2.0

package hardware

// AgentRAID returns the RAID interface "agent": the RAID is made by steps of the agent that a client or a deploy
// template requests, such as raid.create_configuration.
//
// Source: AgentRAID in ironic/drivers/modules/agent.py.
func AgentRAID() Interface { return agentRAID{stored("agent")} }

type agentRAID struct{ stored }

// StepsInBand implements [InBandStepper].
func (agentRAID) StepsInBand(Node) bool { return true }

// stored is the name of a RAID interface, such as "redfish", that stores target_raid_config and has no steps: a request
// for a step of it fails unless the agent has the step and the work is a service.
type stored string

func (i stored) Name() string                { return string(i) }
func (stored) Properties() map[string]string { return nil }
func (stored) Validate(Node) error           { return nil }
