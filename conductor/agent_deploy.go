// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/sleep"
	"github.com/ironstate/ironstate/states"
)

// deploysImage reports whether the node's agent writes an image: whether the node's deploy interface, chosen or by default, is
// "direct".
func deploysImage(hardware Hardware, n *Node) bool {
	chosen := n.Interfaces["deploy"]
	if names := hardware.Describe().Interfaces["deploy"]; chosen == "" && len(names) > 0 {
		chosen = names[0]
	}
	return chosen == "direct"
}

// agentDeploySteps returns the out-of-band steps of a deployment by an agent.
//
// Source: ironic/drivers/modules/agent.py and ironic/drivers/modules/agent_base.py.
func agentDeploySteps(hardware Hardware, n *Node) []Step {
	steps := []Step{
		{Interface: "deploy", Step: "deploy", Priority: 100, Run: bootForDeployment},
		{Interface: "deploy", Step: "prepare_instance_boot", Priority: 60, Run: prepareInstanceBoot},
		{Interface: "deploy", Step: "tear_down_agent", Priority: 40, Run: tearDownAgent},
		{Interface: "deploy", Step: "switch_to_tenant_network", Priority: 30, Run: switchNetwork},
		{Interface: "deploy", Step: "boot_instance", Priority: 20, Run: bootInstance},
	}
	if deploysImage(hardware, n) {
		steps = append(steps, Step{Interface: "deploy", Step: "write_image", Priority: 80, InBand: true, Run: writeImage})
	}
	return steps
}

// bootForDeployment boots the agent and waits for its heartbeat.
func bootForDeployment(ctx context.Context, t *Task) error {
	if err := agentBooter(t.hardware, t.Node()).BootAgent(ctx, t); err != nil {
		return err
	}
	return ErrWait
}

// partitionKeys are the keys of instance_info that the agent is sent with a partition image.
var partitionKeys = []string{"kernel", "ramdisk", "root_gb", "ephemeral_format", "preserve_ephemeral", "image_type"}

// partitionSizes are the sizes of the partitions beside a partition image: the key of instance_info, and the key and the factor
// for the agent's size in MiB.
var partitionSizes = []struct {
	key, agentKey string
	factor        int64
}{{"root_gb", "root_mb", 1024}, {"swap_mb", "swap_mb", 1}, {"ephemeral_gb", "ephemeral_mb", 1024}}

// partitionLayout returns what the agent is sent to partition the disk for a partition image.
//
// Source: parse_instance_info and _validate_layout_properties in ironic/drivers/modules/deploy_utils.py.
func partitionLayout(n *Node) (map[string]any, error) {
	if n.InstanceInfo["root_gb"] == nil {
		return nil, refuse(Invalid, "Some parameters were missing in node's instance_info. Missing are: ['root_gb']")
	}
	layout := map[string]any{}
	for _, key := range partitionKeys {
		layout[key] = n.InstanceInfo[key]
	}
	for _, size := range partitionSizes {
		value := cmp.Or(n.InstanceInfo[size.key], any(0))
		units, err := strconv.ParseInt(fmt.Sprint(value), 10, 32)
		if err != nil || units < 0 {
			return nil, refuse(Invalid, "Invalid parameter %s: %v is not an integer value.", size.key, value)
		}
		layout[size.agentKey] = units * size.factor
	}
	if layout["ephemeral_mb"] != int64(0) && layout["ephemeral_format"] == nil {
		layout["ephemeral_format"] = "ext4"
	}
	preserve, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(cmp.Or(layout["preserve_ephemeral"], any(false)))))
	if err != nil {
		return nil, refuse(Invalid, "Invalid parameter preserve_ephemeral: %v is not a boolean.", layout["preserve_ephemeral"])
	}
	layout["preserve_ephemeral"] = preserve
	return layout, nil
}

// writeImage sends the agent's step write_image with the image of the node's instance.
func writeImage(ctx context.Context, t *Task) error {
	n := t.Node()
	if err := ValidateImage(n); err != nil {
		return err
	}
	source := n.InstanceInfo["image_source"].(string)
	image := map[string]any{
		"id": path.Base(source), "urls": []string{source}, "disk_format": n.InstanceInfo["image_disk_format"],
		"container_format": n.InstanceInfo["image_container_format"], "stream_raw_images": true, "node_uuid": n.UUID,
	}
	for key, name := range map[string]string{"image_checksum": "checksum", "image_os_hash_algo": "os_hash_algo", "image_os_hash_value": "os_hash_value"} {
		if value := n.InstanceInfo[key]; value != nil && value != "" {
			image[name] = value
		}
	}
	if n.DriverInternalInfo["is_whole_disk_image"] != true {
		layout, err := partitionLayout(n)
		if err != nil {
			return err
		}
		maps.Copy(image, layout)
		image["deploy_boot_mode"], image["boot_option"] = n.agentBootMode(), "local"
	}
	args := map[string]any{"image_info": image, "configdrive": nil}
	drive, err := t.configDrive(ctx)
	if err != nil {
		return err
	}
	if drive != nil && drive != "" {
		image["configdrive"], args["configdrive"] = drive, drive
	}
	return t.sendStep(ctx, args)
}

// ValidateImage refuses a node whose image the deploy interface "direct" cannot write.
//
// Source: validate of AgentDeploy in ironic/drivers/modules/agent.py.
func ValidateImage(n *Node) error {
	text := func(key string) string { value, _ := n.InstanceInfo[key].(string); return value }
	source, from := text("image_source"), any("http")
	for _, info := range []map[string]any{n.DriverInfo, n.InstanceInfo} {
		if value := info["image_download_source"]; value != nil && value != "" {
			from = value
		}
	}
	switch {
	case source == "":
		return refuse(Invalid, "Node %s failed to validate deploy image info. Some parameters were missing. Missing are: ['instance_info.image_source']", n.UUID)
	case !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://"):
		return refuse(Invalid, "Node %s has the image_source %q, which is not an http or https URL: no other image can be written.", n.UUID, source)
	case (text("image_os_hash_algo") == "") != (text("image_os_hash_value") == ""), text("image_os_hash_value") == "" && text("image_checksum") == "":
		return refuse(Invalid, `image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided in instance_info for node %s`, n.UUID)
	case from != "http":
		return refuse(Invalid, "Node %s has the image_download_source %q, but agents download images only by http.", n.UUID, fmt.Sprint(from))
	case n.DriverInternalInfo["is_whole_disk_image"] == false:
		_, err := partitionLayout(n)
		return err
	}
	return nil
}

// agentBootMode returns the boot mode that the agent is told, UEFI by default.
func (n *Node) agentBootMode() string { return cmp.Or(n.WantedBootMode(), "uefi") }

// prepareInstanceBoot installs the boot loader of an image that the agent has written, and makes the machine boot its disk.
func prepareInstanceBoot(ctx context.Context, t *Task) error {
	if deploysImage(t.hardware, t.Node()) {
		if err := installBootloader(ctx, t); err != nil {
			return err
		}
	}
	return agentBooter(t.hardware, t.Node()).PrepareInstance(ctx, t)
}

// installBootloader asks for the partitions of the image, and has the boot loader installed where Ironic does: for a
// partition image, and for a whole-disk image that boots by UEFI.
func installBootloader(ctx context.Context, t *Task) error {
	client, err := t.engine.agent(t.Node())
	if err != nil {
		return err
	}
	partitions, err := client.PartitionUUIDs(ctx)
	if err != nil {
		return err
	}
	wholeDisk := t.Node().DriverInternalInfo["is_whole_disk_image"] == true
	switch {
	case partitions.Root != "":
		err = t.Update(ctx, func(n *Node) error { set(&n.DriverInternalInfo, "root_uuid_or_disk_id", partitions.Root); return nil })
	case !wholeDisk:
		err = fmt.Errorf("no root UUID returned from the ramdisk for node %s", t.Node().UUID)
	}
	if err != nil {
		return err
	}
	loader := agent.Bootloader{PartitionUUIDs: partitions, BootMode: t.Node().agentBootMode()}
	if wholeDisk && loader.BootMode != "uefi" {
		return nil
	}
	if wholeDisk || loader.BootMode != "uefi" {
		loader.EFI = ""
	}
	if arch, _ := t.Node().Properties["cpu_arch"].(string); !strings.HasPrefix(arch, "ppc64") {
		loader.PReP = ""
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

// tearDownAgent ends the agent: it powers its machine off. With disable_power_off it writes its caches to the disks.
func tearDownAgent(ctx context.Context, t *Task) error {
	n := t.Node()
	client, err := t.engine.agent(n)
	if err != nil { // no heartbeat has come: another program wrote the image
		return t.endWithoutAgent(ctx)
	}
	forced := strings.EqualFold(fmt.Sprint(n.DriverInfo["deploy_forces_oob_reboot"]), "true")
	if forced || n.DisablePowerOff {
		if err := client.Sync(ctx); err != nil {
			return fmt.Errorf("Error rebooting node %s after deploy. %w", n.UUID, err)
		}
		return t.endWithoutAgent(ctx)
	}
	if err := client.PowerOff(ctx); err != nil && ctx.Err() == nil {
		t.engine.config.Log.Warn("an agent did not power its machine off, which its BMC will do", "node", n.UUID, "error", err)
	}
	for range powerOffReads {
		if now := t.engine.readPower(ctx, t.hardware, n); now.Err == nil && now.Power == states.PowerOff || ctx.Err() != nil {
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

// bootInstance starts the instance.
func bootInstance(ctx context.Context, t *Task) error {
	if t.Node().DisablePowerOff {
		return t.SetPower(ctx, states.PowerRebooting)
	}
	return t.SetPower(ctx, states.PowerOn)
}
