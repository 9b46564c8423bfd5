// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ironstate/ironstate/states"
)

// inspecting is fake-hardware whose inspections and rescues work by the agent.
type inspecting struct{ *Fake }

func (i inspecting) Describe() Description {
	d := i.Fake.Describe()
	d.Interfaces["inspect"], d.Interfaces["rescue"] = []string{"agent", "no-inspect"}, []string{"agent", "no-rescue"}
	return d
}

func (i inspecting) UsesAgent(n *Node, work states.Work) bool {
	switch work {
	case states.WorkInspect:
		return n.Interfaces["inspect"] == ""
	case states.WorkRescue:
		return n.Interfaces["rescue"] == ""
	case states.WorkClean, states.WorkDeploy, states.WorkService:
		return i.Fake.UsesAgent(n, work)
	default:
		return true // the conductor does not ask for work that the agent never does
	}
}

func TestAFailedCleaningPowersTheMachineOffIfConfiguredSince2023_2(t *testing.T) {
	step := &Steps{Current: &Step{Interface: "bios", Step: "factory_reset"}}
	for _, series := range []states.Series{states.Antelope, states.Bobcat, states.Latest()} {
		for _, configured := range []bool{false, true} {
			c, err := New(Config{
				Store: &Memory{}, Hardware: map[string]Hardware{"plain": struct{ Hardware }{&Fake{}}},
				Table: series.Table(), PowerOffInCleanFail: configured,
			})
			require.NoError(t, err)
			off := configured && series >= states.Bobcat
			for _, state := range []states.State{states.Cleaning, states.CleanWait, states.Deploying, states.Inspecting} {
				n := &Node{Driver: "plain", ProvisionState: state, CleanSteps: step, DeploySteps: step}
				left := c.rules.cleanUp(n, noRamdisk, false)
				require.Equal(t, off && n.ProvisionState.Work() == states.WorkClean, left != nil && left.PowerOff, "%v in %v", state, series)
				require.Nil(t, c.rules.cleanUp(n, noRamdisk, true), "an abort is no failure")
			}
		}
	}
}

func TestTheMachineOfStepsThatEndWithARefusedLoginIsLeftAsItIs(t *testing.T) {
	for _, off := range []bool{false, true} {
		c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"plain": &Fake{}}, PowerOffInCleanFail: off})
		require.NoError(t, err)
		for _, state := range []states.State{states.Cleaning, states.Deploying, states.Servicing, states.Rescuing, states.Inspecting} {
			require.Equal(t, off && state == states.Cleaning, c.rules.mustCleanUp(&Node{ProvisionState: state}), state)
			require.True(t, c.rules.mustCleanUp(&Node{ProvisionState: state, Agent: AgentInfo{URL: "http://192.0.2.7:9999"}}), "an agent runs on it")
			booted := &Steps{Prepared: true}
			n := &Node{ProvisionState: state, CleanSteps: booted, DeploySteps: booted, ServiceSteps: booted}
			steps := state == states.Cleaning || state == states.Deploying || state == states.Servicing
			require.True(t, !steps || c.rules.mustCleanUp(n), "the agent is being booted again")
		}
	}
}

func TestWhatFailedWorkLeavesToDoOnTheMachine(t *testing.T) {
	c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"agent": inspecting{&Fake{}}, "plain": struct{ Hardware }{&Fake{}}}})
	require.NoError(t, err)
	step := &Steps{Current: &Step{Interface: "bios", Step: "factory_reset"}}
	var (
		off        = &CleanUp{PowerOff: true}
		stays      = &CleanUp{Ramdisk: true}
		offRamdisk = &CleanUp{PowerOff: true, Ramdisk: true}
		instance   = &CleanUp{PowerOff: true, Ramdisk: true, Instance: true}
		rescue     = &CleanUp{Ramdisk: true, AbortedRescue: true}
		deployment = &CleanUp{Ramdisk: true, AbortedDeployment: true}
		all        = map[string]string{"deploy": "direct"}
		yes        = true
	)
	for name, test := range map[string]struct {
		node            Node
		failed, aborted *CleanUp
	}{
		"cleaning before the first step": {Node{ProvisionState: states.Cleaning, Interfaces: all}, offRamdisk, offRamdisk},
		"cleaning that waits in no step": {
			Node{ProvisionState: states.CleanWait, Interfaces: all, CleanSteps: &Steps{}}, offRamdisk, offRamdisk,
		},
		"cleaning in a step":            {Node{ProvisionState: states.Cleaning, Interfaces: all, CleanSteps: step}, stays, offRamdisk},
		"cleaning that waits in a step": {Node{ProvisionState: states.CleanWait, Interfaces: all, CleanSteps: step}, stays, offRamdisk},
		"cleaning without the agent":    {Node{ProvisionState: states.Cleaning}, nil, nil},
		"manual cleaning without a ramdisk": {
			Node{
				ProvisionState:       states.CleanWait,
				TargetProvisionState: states.Manageable,
				Interfaces:           all,
				CleanSteps:           &Steps{DisableRamdisk: &yes},
			},
			nil, nil,
		},
		"automated cleaning after one without it": {
			Node{
				ProvisionState:       states.CleanWait,
				TargetProvisionState: states.Available,
				Interfaces:           all,
				CleanSteps:           &Steps{DisableRamdisk: &yes},
			},
			offRamdisk, offRamdisk,
		},
		"service before the first step": {Node{ProvisionState: states.ServiceWait, Interfaces: all}, instance, instance},
		"service in a step":             {Node{ProvisionState: states.Servicing, Interfaces: all, ServiceSteps: step}, stays, instance},
		"service without a ramdisk": {
			Node{
				ProvisionState:       states.ServiceWait,
				TargetProvisionState: states.Active,
				Interfaces:           all,
				ServiceSteps:         &Steps{DisableRamdisk: &yes},
			},
			nil, nil,
		},
		"deployment in a step": {
			Node{ProvisionState: states.DeployWait, Interfaces: all, DeploySteps: step}, offRamdisk, deployment,
		},
		"deployment after a step": {
			Node{ProvisionState: states.Deploying, Interfaces: all, DeploySteps: step}, offRamdisk, deployment,
		},
		"deployment that is held": {
			Node{ProvisionState: states.DeployHold, Interfaces: all, DeploySteps: step}, offRamdisk, offRamdisk,
		},
		"deployment without the agent": {Node{ProvisionState: states.Deploying, DeploySteps: step}, nil, nil},
		"inspection by the agent":      {Node{ProvisionState: states.InspectWait}, offRamdisk, offRamdisk},
		"inspection without the agent": {
			Node{ProvisionState: states.InspectWait, Interfaces: map[string]string{"inspect": "no-inspect"}}, nil, nil,
		},
		"rescue":            {Node{ProvisionState: states.Rescuing}, stays, stays},
		"rescue that waits": {Node{ProvisionState: states.RescueWait}, offRamdisk, rescue},
		"rescue without the agent that waits": {
			Node{ProvisionState: states.RescueWait, Interfaces: map[string]string{"rescue": "no-rescue"}}, off, nil,
		},
		"hardware that boots no agent": {Node{Driver: "plain", ProvisionState: states.CleanWait, Interfaces: all}, nil, nil},
		"an unknown hardware type":     {Node{Driver: "another", ProvisionState: states.CleanWait, Interfaces: all}, nil, nil},
		"an unknown hardware type whose agent runs": {
			Node{Driver: "another", ProvisionState: states.CleanWait, CleanSteps: &Steps{Prepared: true}}, offRamdisk, offRamdisk,
		},
		"an unknown hardware type whose agent has sent a heartbeat": {
			Node{Driver: "another", ProvisionState: states.DeployWait, Agent: AgentInfo{URL: "https://10.0.0.7:9999"}}, offRamdisk, deployment,
		},
		"an unknown hardware type whose agent was given its token": {
			Node{Driver: "another", ProvisionState: states.InspectWait, Agent: AgentInfo{TokenPregenerated: true}}, offRamdisk, offRamdisk,
		},
		"hardware that no longer uses the agent that it has booted": {
			Node{ProvisionState: states.CleanHold, CleanSteps: &Steps{Prepared: true}}, offRamdisk, offRamdisk,
		},
		"an agent that runs by fast track beside work without it": {
			Node{
				ProvisionState: states.InspectWait, Interfaces: map[string]string{"inspect": "no-inspect"},
				Agent: AgentInfo{URL: "https://10.0.0.7:9999"},
			},
			nil, nil,
		},
		"the return from rescue": {Node{ProvisionState: states.Unrescuing, Interfaces: all}, nil, nil},
		"a state without work":   {Node{ProvisionState: states.Active, Interfaces: all}, nil, nil},
	} {
		if test.node.Driver == "" {
			test.node.Driver = "agent"
		}
		ramdisk := c.engine.bootsRamdisk(t.Context(), &test.node)
		require.Equal(t, test.failed, c.rules.cleanUp(&test.node, ramdisk, false), "failed %s", name)
		require.Equal(t, test.aborted, c.rules.cleanUp(&test.node, ramdisk, true), "aborted %s", name)
	}
}

// late is a hardware type whose UsesAgent hangs, and reads the node once it goes on.
type late struct {
	*Fake
	release chan struct{}
	read    chan any
}

func (h late) UsesAgent(n *Node, _ states.Work) bool {
	<-h.release
	h.read <- n.DriverInfo["of"]
	return true
}

func TestAHardwareTypeThatIsAskedForTheCleanUpInVainReadsTheNodeAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hardware := late{&Fake{}, make(chan struct{}), make(chan any)}
		c, err := New(Config{Store: &Memory{}, Hardware: map[string]Hardware{"late": hardware}})
		require.NoError(t, err)
		n := &Node{Driver: "late", ProvisionState: states.CleanWait, DriverInfo: map[string]any{"of": "the failed work"}}
		use := c.engine.bootsRamdisk(t.Context(), n)
		require.Nil(t, c.rules.cleanUp(n, use, false))
		heard := n.Clone()
		heard.Agent.URL = "https://10.0.0.7:9999"
		require.NotNil(t, c.rules.cleanUp(heard, use, false), "an agent has sent its first heartbeat while the hardware type was asked")
		booted := &Node{Driver: "late", ProvisionState: states.CleanWait, CleanSteps: &Steps{Prepared: true}}
		require.NotNil(t, c.rules.cleanUp(booted, c.engine.bootsRamdisk(t.Context(), booted), false), "the record says that the agent runs")
		n.DriverInfo["of"] = "its end"
		close(hardware.release)
		require.Equal(t, "the failed work", <-hardware.read)
	})
}
