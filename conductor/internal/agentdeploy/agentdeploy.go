// SPDX-License-Identifier: Apache-2.0

// Package agentdeploy has the steps of a deployment by Ironic's agent, over the little of a conductor's task that they
// need.
//
// Source: ironic/drivers/modules/agent.py and ironic/drivers/modules/agent_base.py.
package agentdeploy

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
)

// Task is what a step needs of the task of its node.
type Task interface {
	// Node returns what the node's record says now.
	Node() Node
	// Agent returns the agent that runs on the node. It returns an error if no heartbeat has come.
	Agent() (Agent, error)
	// WritesImage reports whether the agent writes the image of the node's instance.
	WritesImage(context.Context) (bool, error)
	// ConfigDrive returns the configuration drive of the instance as the agent takes it: an image, gzipped and in base64,
	// or its URL; nil or empty for none.
	ConfigDrive(context.Context) (any, error)
	// Send sends the current step to the agent with these arguments. Like BootAgent it returns the error of a step that
	// waits for the agent's next heartbeat.
	Send(ctx context.Context, args map[string]any) error
	BootAgent(context.Context) error
	CleanUpAgent(context.Context) error    // removes the media and files from which the agent was booted
	PrepareInstance(context.Context) error // makes the machine boot its disk from now on
	ReadPower(context.Context) (states.Power, error)
	// SetPower sets the power state and waits until the machine has it.
	SetPower(context.Context, states.Power) error
	// NoteRoot stores the UUID of the root partition.
	NoteRoot(ctx context.Context, root string) error
	Log() *slog.Logger
}

// Node has what the record of a node says of its deployment.
type Node struct {
	UUID            string
	Ready           bool // an agent runs that does the deployment by fast track
	Booted          bool // an agent runs
	DisablePowerOff bool
	ForcesReboot    bool // the agent is not asked to power its machine off (deploy_forces_oob_reboot)
	Image           agentimage.Node
}

// Agent has the commands that the steps send besides write_image. [agent.Client] implements it.
type Agent interface {
	PartitionUUIDs(context.Context) (agent.PartitionUUIDs, error)
	InstallBootloader(context.Context, agent.Bootloader) error
	PowerOff(context.Context) error
	Sync(context.Context) error // writes the caches to the disks
}

// Step is a step of the deploy interface. It can be aborted.
type Step struct {
	Name     string
	Priority int
	InBand   bool // the agent executes it
	Run      func(context.Context, Task) error
}

// Steps returns the steps of a deployment.
func Steps(writesImage bool) []Step {
	steps := []Step{
		{Name: "deploy", Priority: 100, Run: bootAgent},
		{Name: "prepare_instance_boot", Priority: 60, Run: prepareInstanceBoot},
		{Name: "tear_down_agent", Priority: 40, Run: tearDownAgent},
		{Name: "switch_to_tenant_network", Priority: 30, Run: switchNetwork},
		{Name: "boot_instance", Priority: 20, Run: bootInstance},
	}
	if writesImage {
		steps = append(steps, Step{Name: "write_image", Priority: 80, InBand: true, Run: sendImage})
	}
	return steps
}

// bootAgent boots the agent and waits for its heartbeat. An agent that is ready by fast track is not booted.
func bootAgent(ctx context.Context, t Task) error {
	if t.Node().Ready {
		return nil
	}
	return t.BootAgent(ctx)
}

// sendImage sends the step write_image with the image of the node's instance.
func sendImage(ctx context.Context, t Task) error {
	drive, err := t.ConfigDrive(ctx)
	if err != nil {
		return err
	}
	image, err := agentimage.Info(t.Node().Image)
	if err != nil {
		return err
	}
	args := map[string]any{"image_info": image, "configdrive": nil}
	if drive != nil && drive != "" {
		image["configdrive"], args["configdrive"] = drive, drive
	}
	return t.Send(ctx, args)
}

// prepareInstanceBoot installs the boot loader of an image that the agent has written, and makes the machine boot its
// disk.
func prepareInstanceBoot(ctx context.Context, t Task) error {
	writes, err := t.WritesImage(ctx)
	if err != nil {
		return err
	}
	if writes {
		if err := installBootloader(ctx, t); err != nil {
			return err
		}
	}
	return t.PrepareInstance(ctx)
}

// installBootloader asks for the partitions of the image, and has the boot loader installed if the image needs one.
func installBootloader(ctx context.Context, t Task) error {
	client, err := t.Agent()
	if err != nil {
		return err
	}
	partitions, err := client.PartitionUUIDs(ctx)
	if err != nil {
		return err
	}
	n := t.Node()
	loader, needed, err := agentimage.BootLoader(n.Image, partitions)
	if err != nil {
		return err
	}
	if partitions.Root != "" {
		if err := t.NoteRoot(ctx, partitions.Root); err != nil {
			return err
		}
	}
	if !needed {
		return nil
	}
	if err := client.InstallBootloader(ctx, loader); err != nil {
		//lint:ignore ST1005 the text is Ironic's, in agent_base.py
		return fmt.Errorf("Failed to install a bootloader when deploying node %s: %w", n.UUID, err)
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
func tearDownAgent(ctx context.Context, t Task) error {
	if err := powerOffAgent(ctx, t); err != nil {
		return err
	}
	return t.CleanUpAgent(ctx)
}

// powerOffAgent has the agent power its machine off. With disable_power_off it writes its caches to the disks.
func powerOffAgent(ctx context.Context, t Task) error {
	n := t.Node()
	client, err := t.Agent()
	if err != nil { // another program wrote the image
		return endWithoutAgent(ctx, t)
	}
	if n.ForcesReboot || n.DisablePowerOff {
		if err := client.Sync(ctx); err != nil {
			//lint:ignore ST1005 the text is Ironic's, in agent.py
			return fmt.Errorf("Error rebooting node %s after deploy. %w", n.UUID, err)
		}
		return endWithoutAgent(ctx, t)
	}
	if err := client.PowerOff(ctx); err != nil {
		t.Log().Warn("an agent could not be asked to power its machine off, so that the BMC has to", "node", n.UUID, "error", err)
	}
	for range powerOffReads {
		power, err := t.ReadPower(ctx)
		if verify.LoginRefused(err) {
			return err
		}
		if err == nil && power == states.PowerOff {
			break
		}
		sleep.For(ctx, powerOffInterval)
	}
	return t.SetPower(ctx, states.PowerOff)
}

// endWithoutAgent powers the machine off, unless the step boot_instance reboots it.
func endWithoutAgent(ctx context.Context, t Task) error {
	if t.Node().DisablePowerOff {
		return nil
	}
	return t.SetPower(ctx, states.PowerOff)
}

// switchNetwork leaves the networks as they are: they are another service's.
func switchNetwork(context.Context, Task) error { return nil }

// bootInstance starts the instance. If a step after tear_down_agent has booted the agent again, that is ended first:
// Ironic leaves it running.
func bootInstance(ctx context.Context, t Task) error {
	n := t.Node()
	if n.DisablePowerOff {
		return t.SetPower(ctx, states.PowerRebooting)
	}
	if n.Booted {
		if err := tearDownAgent(ctx, t); err != nil {
			return err
		}
		if err := t.PrepareInstance(ctx); err != nil {
			return err
		}
	}
	return t.SetPower(ctx, states.PowerOn)
}
