// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/agentdeploy"
	"github.com/ironstate/ironstate/conductor/internal/agentimage"
	"github.com/ironstate/ironstate/conductor/internal/configdrive"
	"github.com/ironstate/ironstate/conductor/internal/raidconfig"
	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/states"
)

// agentDeploySteps returns the steps of a deployment by an agent.
func agentDeploySteps(booter AgentBooter, n *Node) []Step {
	var steps []Step
	for _, s := range agentdeploy.Steps(booter.WritesImage(n)) {
		steps = append(steps, Step{
			Interface: "deploy", Step: s.Name, Priority: s.Priority, Abortable: true, InBand: s.InBand,
			Run: func(ctx context.Context, t *Task) error { return s.Run(ctx, deployTask{t}) },
		})
	}
	return steps
}

// deployTask is a task as the steps of a deployment use it. It implements [agentdeploy.Task].
type deployTask struct{ task *Task }

func (t deployTask) Node() agentdeploy.Node {
	n := t.task.Node()
	on, _ := t.task.engine.config.fastTracks(n)
	forces, _ := oslobool.Parse(fmt.Sprint(n.DriverInfo["deploy_forces_oob_reboot"]))
	return agentdeploy.Node{
		UUID: n.UUID, Ready: on && n.Agent.hasSteps(agent.Deploy), Booted: n.Agent.URL != "",
		DisablePowerOff: n.DisablePowerOff, ForcesReboot: forces, Image: n.image(),
	}
}

func (t deployTask) Agent() (agentdeploy.Agent, error) { return t.task.engine.agent(t.task.Node()) }
func (t deployTask) Log() *slog.Logger                 { return t.task.engine.config.Log }

func (t deployTask) ReadPower(ctx context.Context) (states.Power, error) {
	return agentTask(t).ReadPower(ctx)
}

func (t deployTask) SetPower(ctx context.Context, power states.Power) error {
	return t.task.SetPower(ctx, power)
}

func (t deployTask) Send(ctx context.Context, args map[string]any) error {
	return t.task.send(ctx, args)
}

func (t deployTask) WritesImage(ctx context.Context) (bool, error) {
	booter, err := t.task.booter(ctx)
	if err != nil {
		return false, err
	}
	n := t.task.Node()
	return askHardware(ctx, t.task.engine.types, n, "whether the agent writes the image", func() bool { return booter.WritesImage(n) })
}

func (t deployTask) BootAgent(ctx context.Context) error {
	if err := t.task.withBooter(ctx, AgentBooter.BootAgent); err != nil {
		return err
	}
	return ErrWait
}

func (t deployTask) CleanUpAgent(ctx context.Context) error {
	return t.task.withBooter(ctx, AgentBooter.CleanUpAgent)
}

func (t deployTask) PrepareInstance(ctx context.Context) error {
	return t.task.withBooter(ctx, AgentBooter.PrepareInstance)
}

func (t deployTask) NoteRoot(ctx context.Context, root string) error {
	return t.task.Update(ctx, func(n *Node) error { n.Deployment.Root = root; return nil })
}

// ConfigDrive returns the configuration drive of the node's instance as the agent takes it: an image, gzipped and in
// base64, or its URL; nil for none. It builds the image of a drive that the client has described by an object.
//
// Source: get_configdrive_image in ironic/conductor/utils.py.
func (t deployTask) ConfigDrive(ctx context.Context) (any, error) {
	n := t.task.Node()
	object, ok := n.InstanceInfo["configdrive"].(map[string]any)
	if !ok {
		return n.InstanceInfo["configdrive"], nil
	}
	builder, ok := t.task.hardware.(ConfigDriveBuilder)
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

// InstanceImage is the image of a node's instance, which the agent downloads and writes. A checksum is a digest in
// hexadecimal digits, or the URL of a file that contains it.
type InstanceImage struct {
	// Source is the URL of the image. A local image may have a file URL.
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

// agentBootMode returns the boot mode that is sent to the agent, UEFI by default.
func (n *Node) agentBootMode() string { return cmp.Or(n.WantedBootMode(), "uefi") }
