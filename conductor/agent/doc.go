// SPDX-License-Identifier: Apache-2.0

// Package agent speaks to Ironic's deployment agent, ironic-python-agent, as a conductor does. The agent runs in the
// ramdisk that a machine boots for a cleaning, a deployment, a service or a rescue. It announces itself by heartbeats
// and then takes commands:
//
//	client, err := agent.New(agent.Config{URL: callbackURL, Token: token, VerifyCA: certificate, Node: uuid})
//	...
//	steps, err := client.Steps(ctx, agent.Clean, agent.Machine{Node: node})
//	command, err := client.Execute(ctx, agent.Clean, steps.Steps[0], steps.Versions, machine)
//	...
//	commands, err := client.Commands(ctx) // at the next heartbeat
//	verdict, reason := agent.Judge(agent.Clean, uuid, current, commands)
//
// [Client] sends the commands, and [Judge] decides what they mean for the step that a node waits for. The agent is not
// trusted: the size, the depth and the number of values of its answers are bounded, and so is the time that it may
// take. Texts of the agent in errors are cut off at 2048 bytes and contain no control characters. The token is in no
// error, and masked in the commands that the agent reports.
//
// An agent with a certificate of its own sends it in its heartbeats. The client then accepts that certificate, and no
// other authority.
//
// Each command needs the permission of the context (conductor.Permit), which is asked for when the connection is open
// and the request is ready to be sent. Questions that change nothing need none.
//
// The package has no commands for logs (log.collect_system_logs), for an agent without a conductor (poll) and for the
// lockdown of an agent (system.lockdown).
//
// Source: ironic/drivers/modules/agent_client.py and ironic/drivers/modules/agent_base.py, of Ironic 21.4.4.
package agent
