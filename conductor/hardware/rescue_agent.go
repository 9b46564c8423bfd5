// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// AgentRescue returns the rescue interface "agent".
//
// Source: AgentRescue in ironic/drivers/modules/agent.py.
func AgentRescue() Interface { return agentRescue{"agent"} }

type agentRescue struct{ named }

func (agentRescue) UsesAgent(Node, states.Work) bool { return true }
func (agentRescue) Validate(n Node) error            { return n.Chosen.Boot.Validate(n) }

func (b agentRescue) Steps(n Node, work states.Work) []conductor.Step {
	switch work {
	case states.WorkRescue:
		return []conductor.Step{{Step: "rescue", Priority: 100, Run: n.Run(b.rescue)}}
	case states.WorkUnrescue:
		return []conductor.Step{{Step: "unrescue", Priority: 100, Run: n.Run(b.unrescue)}}
	default:
		return nil
	}
}

// rescue boots the agent, which waits for the rescue password.
func (agentRescue) rescue(ctx context.Context, t Task) error {
	err := bootInto(ctx, t, func() error {
		if err := t.Chosen.Boot.CleanUpInstance(ctx, t); err != nil {
			return err
		}
		return t.Chosen.Boot.PrepareRamdisk(ctx, t, nil)
	})
	if err != nil {
		return err
	}
	return conductor.ErrWait
}

// unrescue boots the instance again.
func (agentRescue) unrescue(ctx context.Context, t Task) error {
	return bootInto(ctx, t, func() error {
		if err := t.Chosen.Boot.CleanUpRamdisk(ctx, t); err != nil {
			return err
		}
		return t.Chosen.Boot.PrepareInstance(ctx, t)
	})
}
