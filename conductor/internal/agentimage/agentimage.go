// SPDX-License-Identifier: Apache-2.0

// Package agentimage has the rules of Ironic's deploy interface "direct" for the image of an instance: what the record
// of a node must say of it, and what the agent that writes it is told.
package agentimage

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/internal/pyrepr"
	"github.com/ironstate/ironstate/machine/admission"
)

// Node has what the record of a node says of the image of its instance.
type Node struct {
	UUID                     string
	InstanceInfo, DriverInfo map[string]any
	WholeDisk                *bool  // whether it is a whole-disk image or a partition image; nil if that is not known
	BootMode                 string // in which the image will boot: "bios" or "uefi"
	DiskLabel                any    // the kind of the partition table; nil for the one that suits the boot mode
	Root                     string // the UUID of the root partition as the agent has reported it earlier; empty for none
	CPUArch                  any    // the property cpu_arch
	SoftwareRAID             bool   // whether the image is written to a software RAID
}

// The types of images, the values of image_type.
const (
	wholeDisk = "whole-disk"
	partition = "partition"
)

// Type returns the type of an image by the instance_info of its node: "whole-disk" or "partition". An image with a
// kernel or a ramdisk of its own is a partition image. It returns "" if the type is not known: this project sends no
// requests to Glance, which knows the type of its images.
//
// Source: update_image_type in ironic/conductor/utils.py.
func Type(instanceInfo map[string]any) string {
	source, _ := instanceInfo["image_source"].(string)
	kind := instanceInfo["image_type"]
	switch {
	case !strings.Contains(source, "://"), strings.HasPrefix(source, "glance://"), strings.HasSuffix(source, "/"):
		return ""
	case kind == partition, !pyrepr.Truthy(kind) && (instanceInfo["kernel"] != nil || instanceInfo["ramdisk"] != nil):
		return partition
	default:
		return wholeDisk
	}
}

// Check returns an error if the agent cannot write the image, and otherwise whether the conductor downloads it and
// serves it to the agent. A node that names no download source uses the configured one: "http", "local", or empty for
// "http".
//
// Source: validate of AgentDeploy in ironic/drivers/modules/agent.py.
func Check(n Node, configured string) (local bool, err error) {
	text := func(key string) string { value, _ := n.InstanceInfo[key].(string); return value }
	source, algorithm, hash := text("image_source"), text("image_os_hash_algo"), text("image_os_hash_value")
	file := strings.HasPrefix(source, "file://")
	if source == "" {
		return false, invalid("Node %s failed to validate deploy image info. Some parameters were missing. "+
			"Missing are: ['instance_info.image_source']", n.UUID)
	}
	if kind := n.InstanceInfo["image_type"]; !slices.Contains([]any{nil, "", wholeDisk, partition}, kind) {
		return false, invalid("Invalid image_type %q, valid are partition, whole-disk", fmt.Sprint(kind))
	}
	if !file && ((algorithm == "") != (hash == "") || hash == "" && text("image_checksum") == "") {
		return false, invalid(`image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" `+
			`must be provided in instance_info for node %s`, n.UUID)
	}
	from := downloadSource(n, configured)
	if !slices.Contains([]any{"swift", "http", "local"}, from) {
		return false, invalid("Invalid value for image_download_source: %q. Valid values are swift, http or local.", fmt.Sprint(from))
	}
	if !file && !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		return false, invalid("Node %s has the image_source %q, which is not an http, https or file URL: no other image can be written.",
			n.UUID, source)
	}
	if err := checkProxies(n.DriverInfo); err != nil {
		return false, err
	}
	if n.WholeDisk != nil && !*n.WholeDisk {
		if _, err := partitions(n.InstanceInfo); err != nil {
			return false, err
		}
	}
	return file || from == "local", nil
}

// invalidError is an error with a text of Ironic. It matches [admission.Invalid].
type invalidError struct{ error }

func (invalidError) Is(target error) bool { return target == admission.Invalid }

func invalid(format string, args ...any) error { return invalidError{fmt.Errorf(format, args...)} }

// downloadSource returns who downloads the image: the first that is set of the values in instance_info, in driver_info
// and of the configuration.
//
// Source: get_image_download_source in ironic/drivers/modules/deploy_utils.py.
func downloadSource(n Node, configured string) any {
	for _, info := range []map[string]any{n.InstanceInfo, n.DriverInfo} {
		if value := info["image_download_source"]; value != nil && value != "" {
			return value
		}
	}
	return cmp.Or(configured, "http")
}

// partitionKeys are the keys of instance_info that are sent to the agent with a partition image.
var partitionKeys = []string{"kernel", "ramdisk", "root_gb", "ephemeral_format", "preserve_ephemeral", "image_type"}

// partitionSizes are the sizes of the partitions beside a partition image: the key of instance_info, and the key and
// the factor for the agent's size in MiB.
var partitionSizes = []struct {
	key, agentKey string
	factor        int64
}{{"root_gb", "root_mb", 1024}, {"swap_mb", "swap_mb", 1}, {"ephemeral_gb", "ephemeral_mb", 1024}}

// partitions returns the part of image_info from which the agent makes the partitions of a partition image.
//
// Source: parse_instance_info and _validate_layout_properties in ironic/drivers/modules/deploy_utils.py.
func partitions(instanceInfo map[string]any) (map[string]any, error) {
	if instanceInfo["root_gb"] == nil {
		return nil, invalid("Some parameters were missing in node's instance_info. Missing are: ['root_gb']")
	}
	layout := map[string]any{}
	for _, key := range partitionKeys {
		layout[key] = instanceInfo[key]
	}
	for _, size := range partitionSizes {
		value := cmp.Or(instanceInfo[size.key], any(0))
		units, err := strconv.ParseInt(fmt.Sprint(value), 10, 32)
		if err != nil || units < 0 {
			return nil, invalid("Invalid parameter %s: %v is not an integer value.", size.key, value)
		}
		layout[size.agentKey] = units * size.factor
	}
	if layout["ephemeral_mb"] != int64(0) && layout["ephemeral_format"] == nil {
		layout["ephemeral_format"] = "ext4"
	}
	preserve, ok := oslobool.Parse(fmt.Sprint(cmp.Or(layout["preserve_ephemeral"], any(false))))
	if !ok {
		return nil, invalid("Invalid parameter preserve_ephemeral: %v is not a boolean.", layout["preserve_ephemeral"])
	}
	layout["preserve_ephemeral"] = preserve
	return layout, nil
}

// Info returns image_info for the agent's step write_image, without the configuration drive. It fails for partitions
// that Check refuses; an image of unknown type is taken for a partition image.
//
// Source: write_image of AgentDeploy in ironic/drivers/modules/agent.py.
func Info(n Node) (map[string]any, error) {
	source, _ := n.InstanceInfo["image_source"].(string)
	image := map[string]any{
		"id": path.Base(source), "urls": []any{n.InstanceInfo["image_url"]}, "disk_format": n.InstanceInfo["image_disk_format"],
		"container_format": n.InstanceInfo["image_container_format"], "stream_raw_images": true, "node_uuid": n.UUID,
	}
	for key, name := range map[string]string{
		"image_checksum":      "checksum",
		"image_os_hash_algo":  "os_hash_algo",
		"image_os_hash_value": "os_hash_value",
	} {
		if value := n.InstanceInfo[key]; value != nil && value != "" {
			image[name] = value
		}
	}
	proxies := map[string]any{}
	for _, scheme := range []string{"http", "https"} {
		if proxy := n.DriverInfo["image_"+scheme+"_proxy"]; proxy != nil && proxy != "" {
			proxies[scheme] = proxy
		}
	}
	if len(proxies) > 0 {
		image["proxies"] = proxies
		if hosts := n.DriverInfo["image_no_proxy"]; hosts != nil {
			image["no_proxy"] = hosts
		}
	}
	if n.WholeDisk != nil && *n.WholeDisk {
		return image, nil
	}
	layout, err := partitions(n.InstanceInfo)
	if err != nil {
		return nil, err
	}
	maps.Copy(image, layout)
	image["deploy_boot_mode"], image["boot_option"] = n.BootMode, "local"
	if n.DiskLabel != nil {
		image["disk_label"] = n.DiskLabel
	} else if n.BootMode == "uefi" {
		image["disk_label"] = "gpt"
	}
	return image, nil
}
