// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
)

// AgentInspect returns the inspect interface "agent", by which the agent inspects its machine.
func AgentInspect() Interface { return agentInspect{"agent"} }

type agentInspect struct{ named }

func (agentInspect) UsesAgent(Node, states.Work) bool { return true }

func (agentInspect) Validate(n Node) error {
	if err := n.Chosen.Power.Validate(n); err != nil {
		return err
	}
	_, err := n.Chosen.Boot.ServesAgent(n)
	return err
}

func (b agentInspect) Steps(n Node, work states.Work) []conductor.Step {
	if work != states.WorkInspect {
		return nil
	}
	return []conductor.Step{
		{Step: "inspect_hardware", Priority: 100, Abortable: true, Run: n.Run(b.start)},
		{Step: "tear_down", Priority: 20, Run: n.Run(b.end)},
	}
}

// start boots the agent, which then sends its inspection data to the API. An agent in a ready image must
// contain the address. First it creates ports of the network interfaces that the BMC reports, since some boot
// interfaces know the machine by them.
//
// Source: inspect_hardware in ironic/drivers/modules/inspector/interface.py, with its default [inspector]
// pre_create_ports; Ironic 21.4.4 does so too, in inspector.py.
func (agentInspect) start(ctx context.Context, t Task) error {
	if by, ok := t.Chosen.Management.(MACReader); ok && !t.config.SkipBMCPorts {
		macs, err := by.ReadMACs(ctx, t.Task.Node())
		if err == nil {
			err = t.AddPorts(ctx, macs)
		}
		if err != nil {
			return err
		}
	}
	parameters := map[string]string{"ipa-inspection-callback-url": t.config.APIURL + "/v1/continue_inspection"}
	err := bootInto(ctx, t, func() error { return t.Chosen.Boot.PrepareRamdisk(ctx, t, parameters) })
	if err != nil {
		return err
	}
	return conductor.ErrWait
}

// end powers the machine off, unless the node has disable_power_off, and removes what its boot needed. By fast track
// the agent stays.
//
// Source: clean_up in ironic/drivers/modules/inspector/interface.py.
func (agentInspect) end(ctx context.Context, t Task) error {
	if t.KeepsAgent() {
		return nil
	}
	if !t.Node().DisablePowerOff {
		if err := t.SetPower(ctx, states.PowerOff); err != nil {
			return err
		}
	}
	if err := t.Chosen.Boot.CleanUpRamdisk(ctx, t); err != nil {
		return err
	}
	return t.ForgetAgent(ctx)
}
