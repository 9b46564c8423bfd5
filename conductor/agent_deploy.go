// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// agentDeploySteps returns the out-of-band steps of a deployment by an agent.
//
// Source: ironic/drivers/modules/agent.py and ironic/drivers/modules/agent_base.py.
func agentDeploySteps(booter AgentBooter, n *Node) []Step {
	steps := []Step{
		{Interface: "deploy", Step: "deploy", Priority: 100, Abortable: true, Run: bootForDeployment},
		{Interface: "deploy", Step: "prepare_instance_boot", Priority: 60, Abortable: true, Run: prepareInstanceBoot},
		{Interface: "deploy", Step: "tear_down_agent", Priority: 40, Abortable: true, Run: tearDownAgent},
		{Interface: "deploy", Step: "switch_to_tenant_network", Priority: 30, Abortable: true, Run: switchNetwork},
		{Interface: "deploy", Step: "boot_instance", Priority: 20, Abortable: true, Run: bootInstance},
	}
	if booter.WritesImage(n) {
		steps = append(steps, Step{Interface: "deploy", Step: "write_image", Priority: 80, Abortable: true, InBand: true, Run: writeImage})
	}
	return steps
}

// bootForDeployment boots the agent and waits for its heartbeat. An agent that is ready by fast track is not booted.
func bootForDeployment(ctx context.Context, t *Task) error {
	if on, _ := t.engine.config.fastTracks(t.Node()); on && t.Node().Agent.hasSteps(agent.Deploy) {
		return nil
	}
	booter, err := t.booter(ctx)
	if err != nil {
		return err
	}
	if err := booter.BootAgent(ctx, t); err != nil {
		return err
	}
	return ErrWait
}

// prepareInstanceBoot installs the boot loader of an image that the agent has written, and makes the machine boot its
// disk.
func prepareInstanceBoot(ctx context.Context, t *Task) error {
	booter, err := t.booter(ctx)
	if err != nil {
		return err
	}
	n := t.Node()
	writes, err := askHardware(ctx, t.engine.types, n, "whether the agent writes the image", func() bool { return booter.WritesImage(n) })
	if err != nil {
		return err
	}
	if writes {
		if err := t.installBootloader(ctx); err != nil {
			return err
		}
	}
	return booter.PrepareInstance(ctx, t)
}

// installBootloader asks for the partitions of the image, and has the boot loader installed if the image needs one.
func (t *Task) installBootloader(ctx context.Context) error {
	client, err := t.engine.agent(t.Node())
	if err != nil {
		return err
	}
	partitions, err := client.PartitionUUIDs(ctx)
	if err != nil {
		return err
	}
	loader, needed, err := agentimage.BootLoader(t.Node().image(), partitions)
	if err != nil {
		return err
	}
	if partitions.Root != "" {
		err := t.Update(ctx, func(n *Node) error { n.Deployment.Root = partitions.Root; return nil })
		if err != nil {
			return err
		}
	}
	if !needed {
		return nil
	}
	if err := client.InstallBootloader(ctx, loader); err != nil {
		//lint:ignore ST1005 the text is Ironic's, in agent_base.py
		return fmt.Errorf("Failed to install a bootloader when deploying node %s: %w", t.Node().UUID, err)
	}
	return nil
}

// The agent's own power off is awaited for powerOffReads times powerOffInterval before the machine is powered off by
// its BMC (post_deploy_get_power_state_retries, post_deploy_get_power_state_retry_interval).
const (
	powerOffReads    = 7
	powerOffInterval = 5 * time.Second
)

// tearDownAgent powers the agent's machine off, and then removes the media and files from which the agent was booted.
func tearDownAgent(ctx context.Context, t *Task) error {
	if err := t.powerOffAgent(ctx); err != nil {
		return err
	}
	booter, err := t.booter(ctx)
	if err != nil {
		return err
	}
	return booter.CleanUpAgent(ctx, t)
}

// powerOffAgent has the agent power its machine off. With disable_power_off it writes its caches to the disks.
func (t *Task) powerOffAgent(ctx context.Context) error {
	n := t.Node()
	client, err := t.engine.agent(n)
	if err != nil { // no heartbeat has come: another program wrote the image
		return t.endWithoutAgent(ctx)
	}
	forced, _ := oslobool.Parse(fmt.Sprint(n.DriverInfo["deploy_forces_oob_reboot"]))
	if forced || n.DisablePowerOff {
		if err := client.Sync(ctx); err != nil {
			return fmt.Errorf("Error rebooting node %s after deploy. %w", n.UUID, err)
		}
		return t.endWithoutAgent(ctx)
	}
	if err := client.PowerOff(ctx); err != nil {
		t.engine.config.Log.Warn("an agent could not be asked to power its machine off, so that the BMC has to", "node", n.UUID, "error", err)
	}
	for range powerOffReads {
		now := t.engine.readPower(ctx, t.hardware, n)
		if verify.LoginRefused(now.Err) {
			return now.Err
		}
		if now.Err == nil && now.Power == states.PowerOff {
			break
		}
		sleep.For(ctx, powerOffInterval)
	}
	return t.SetPower(ctx, states.PowerOff)
}

// endWithoutAgent powers the machine off, unless the step boot_instance reboots it.
func (t *Task) endWithoutAgent(ctx context.Context) error {
	if t.Node().DisablePowerOff {
		return nil
	}
	return t.SetPower(ctx, states.PowerOff)
}

// switchNetwork leaves the networks as they are: they are another service's.
func switchNetwork(context.Context, *Task) error { return nil }

// bootInstance starts the instance. If a step after tear_down_agent has booted the agent again, that is ended first:
// Ironic leaves it running.
func bootInstance(ctx context.Context, t *Task) error {
	if t.Node().DisablePowerOff {
		return t.SetPower(ctx, states.PowerRebooting)
	}
	if t.Node().Agent.URL != "" {
		if err := tearDownAgent(ctx, t); err != nil {
			return err
		}
		booter, err := t.booter(ctx)
		if err != nil {
			return err
		}
		if err := booter.PrepareInstance(ctx, t); err != nil {
			return err
		}
	}
	return t.SetPower(ctx, states.PowerOn)
}
