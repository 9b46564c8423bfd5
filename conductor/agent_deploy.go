// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
	"github.com/ironstate/ironstate/conductor/internal/configdrive"
	"github.com/ironstate/ironstate/conductor/internal/raidconfig"
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

// InstanceImage is the image of a node's instance, which the agent downloads and writes. A checksum is a digest in
// hexadecimal digits, or the URL of a file that contains it.
type InstanceImage struct {
	// Source is the URL of the image. That of a local image may be a file URL.
	Source string
	// Local images are downloaded by the conductor, which serves them to the agent.
	Local bool
	// Hash is the checksum by Algorithm, such as "sha256". Checksum is one whose length tells the algorithm. Only a
	// local image may have neither.
	Algorithm, Hash, Checksum string
	// Size is the number of bytes that the agent downloads, 0 if it is unknown.
	Size int64
}

// ImageServer is a [Hardware] that provides the images of instances. With any other, the agent downloads each image
// from its own URL.
type ImageServer interface {
	// PrepareImage returns the image of the node's instance as the agent downloads it, with a URL that has been checked.
	// If the image is local, that is the URL of a verified copy, which is served until CleanUpAgent or PrepareInstance is
	// called.
	PrepareImage(ctx context.Context, n *Node) (InstanceImage, error)
}

// InstanceImage returns the image of the node's instance, or an error that matches [Invalid] if the deploy interface
// "direct" cannot write it. Nodes that name no download source use this one: "http", "local", or empty for "http".
//
// Source: validate of AgentDeploy in ironic/drivers/modules/agent.py.
func (n *Node) InstanceImage(downloadSource string) (InstanceImage, error) {
	text := func(key string) string { value, _ := n.InstanceInfo[key].(string); return value }
	i := InstanceImage{
		Source: text("image_source"), Algorithm: text("image_os_hash_algo"), Hash: text("image_os_hash_value"), Checksum: text("image_checksum"),
	}
	var err error
	if i.Local, err = agentimage.Check(n.image(), downloadSource); err != nil {
		err = refuse(Invalid, "%w", err)
	}
	return i, err
}

// image returns the fields of the node that decide how the agent writes the image of its instance.
func (n *Node) image() agentimage.Node {
	return agentimage.Node{
		UUID: n.UUID, InstanceInfo: n.InstanceInfo, DriverInfo: n.DriverInfo,
		WholeDisk: n.Deployment.WholeDisk, BootMode: n.agentBootMode(), DiskLabel: n.InstanceCapabilities()["disk_label"],
		Root: n.Deployment.Root, CPUArch: n.Properties["cpu_arch"], SoftwareRAID: raidconfig.BySoftware(n.TargetRAIDConfig),
	}
}

// noteImageType records whether the image is a whole-disk or a partition image, if that is known.
func (n *Node) noteImageType() {
	if name := agentimage.Type(n.InstanceInfo); name != "" {
		wholeDisk := name == "whole-disk"
		n.InstanceInfo["image_type"], n.Deployment.WholeDisk = name, &wholeDisk
	}
}

// prepareImage checks or downloads the image of the node's instance, and stores the URL from which the agent downloads
// it.
//
// Source: build_instance_info_for_deploy in ironic/drivers/modules/deploy_utils.py.
func (t *Task) prepareImage(ctx context.Context) error {
	n := t.Node()
	server, serves := t.hardware.(ImageServer)
	image, err := n.InstanceImage("")
	switch {
	case serves:
		image, err = server.PrepareImage(ctx, n)
	case err == nil && image.Local:
		err = refuse(Unsupported, "Driver %s cannot serve the image of node %s to its agent.", n.Driver, n.UUID)
	}
	if err != nil {
		return err
	}
	simulated := t.engine.types.description(n).Simulated
	return t.Update(ctx, func(n *Node) error {
		setKey(&n.InstanceInfo, "image_url", image.Source)
		for key, value := range map[string]string{
			"image_checksum":      image.Checksum,
			"image_os_hash_algo":  image.Algorithm,
			"image_os_hash_value": image.Hash,
		} {
			if value == "" {
				delete(n.InstanceInfo, key)
			} else {
				n.InstanceInfo[key] = value
			}
		}
		n.Deployment.ImageSize = image.Size
		if !simulated { // else there is no machine whose boot mode could be set
			n.Deployment.BootMode = n.agentBootMode()
		}
		return nil
	})
}

// writeImage sends the agent's step write_image with the image of the node's instance.
func writeImage(ctx context.Context, t *Task) error {
	drive, err := t.configDrive(ctx)
	if err != nil {
		return err
	}
	image, err := agentimage.Info(t.Node().image())
	if err != nil {
		return refuse(Invalid, "%w", err)
	}
	args := map[string]any{"image_info": image, "configdrive": nil}
	if drive != nil && drive != "" {
		image["configdrive"], args["configdrive"] = drive, drive
	}
	return t.sendStep(ctx, args)
}

// configDrive returns the configuration drive of the node's instance as the agent takes it: an image, gzipped and in
// base64, or its URL; nil for none. It builds the image of a drive that the client has described by an object.
//
// Source: get_configdrive_image in ironic/conductor/utils.py.
func (t *Task) configDrive(ctx context.Context) (any, error) {
	n := t.Node()
	object, ok := n.InstanceInfo["configdrive"].(map[string]any)
	if !ok {
		return n.InstanceInfo["configdrive"], nil
	}
	builder, ok := t.hardware.(ConfigDriveBuilder)
	if !ok {
		return nil, refuse(Unsupported, "Driver %s cannot build the configuration drive of node %s from an object. "+
			"It can write an image, gzipped and in base64, or its URL.", n.Driver, n.UUID)
	}
	files, err := configdrive.Files(n.UUID, n.Name, object)
	if err != nil {
		return nil, err
	}
	image, err := builder.BuildConfigDrive(ctx, files)
	if err != nil {
		return nil, err
	}
	return configdrive.Pack(image), nil
}

// agentBootMode returns the boot mode that is sent to the agent, UEFI by default.
func (n *Node) agentBootMode() string { return cmp.Or(n.WantedBootMode(), "uefi") }
