// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The sizes in MiB of the partitions that a machine boots from.
//
// Source: the options of ironic_lib/disk_utils.py.
const (
	efiSystemMiB = 200
	biosBootMiB  = 1
)

// plannedPartition is a partition that the disk of a partition image gets.
type plannedPartition struct {
	name string
	mib  int64
	kind byte   // type in a master boot record
	guid string // type in a GUID partition table
}

// layout returns the partitions of the disk of a partition image, in their order. The size of the config drive is in
// MiB, 0 for none.
//
// Source: make_partitions in ironic_lib/disk_utils.py.
func (i imageInfo) layout(uefi, gpt bool, drive int64) []plannedPartition {
	var parts []plannedPartition
	switch {
	case uefi:
		parts = append(parts, plannedPartition{"efi system partition", efiSystemMiB, mbrESP, efiSystem})
	case gpt:
		parts = append(parts, plannedPartition{"BIOS Boot partition", biosBootMiB, mbrLinux, biosBoot})
	}
	for _, p := range []plannedPartition{
		{"ephemeral", i.Ephemeral, mbrLinux, linuxData}, {"swap", i.Swap, mbrSwap, linuxSwap}, {"configdrive", drive, mbrLinux, linuxData},
	} {
		if p.mib > 0 {
			parts = append(parts, p)
		}
	}
	return append(parts, plannedPartition{"root", i.Root, mbrLinux, linuxData})
}

// writePartitionImage partitions the disk, writes the image to the root partition and the config drive to its own, and
// returns the answer of get_partition_uuids. It makes no file systems. With preserve_ephemeral the partitions stay as
// they are.
//
// Source: work_on_disk in ironic_lib/disk_utils.py.
func (a *agent) writePartitionImage(ctx context.Context, d disk, image imageInfo, drive string) (map[string]any, error) {
	var content []byte
	if drive != "" {
		var err error
		if content, err = a.configDrive(ctx, drive); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	uefi, gpt := bootMode(a.node)
	a.mu.Unlock()
	parts := image.layout(uefi, gpt, (int64(len(content))+1<<20-1)>>20)
	partitions := map[string]partition{}
	err := imageClient{a.machine.http}.copyImage(ctx, image, func(size int64) (io.Writer, error) {
		if mib := (size + 1<<20 - 1) >> 20; mib > image.Root {
			return nil, invalidParams("Root partition is too small for requested image. Image virtual size: %d MB, Root size: %d MB",
				mib, image.Root)
		}
		if !image.Preserve {
			if err := d.makePartitions(gpt, parts); err != nil {
				return nil, writeFailed("1", err.Error())
			}
		}
		present, err := d.partitions()
		if err != nil || len(present) < len(parts) {
			return nil, deploymentFailed("Root device '%s%d' not found", device, len(parts))
		}
		for n, p := range parts {
			partitions[p.name] = present[n]
		}
		if len(content) > 0 {
			if _, err := d.writer(partitions["configdrive"]).Write(content); err != nil {
				return nil, writeFailed("1", err.Error())
			}
		}
		return d.writer(partitions["root"]), nil
	})
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"root uuid": d.uuid(partitions["root"]), "efi system partition uuid": nil}
	if uefi {
		answer["efi system partition uuid"] = d.uuid(partitions["efi system partition"])
	}
	return answer, nil
}

// bootMode reports whether a node boots by UEFI, and whether its disk has a GUID partition table. A machine of this
// package boots by BIOS if the node does not say otherwise.
//
// Source: get_node_boot_mode and get_partition_table_type_from_specs in ironic_python_agent/utils.py.
func bootMode(node map[string]any) (uefi, gpt bool) {
	object := func(key string) map[string]any { value, _ := node[key].(map[string]any); return value }
	instance, own := capabilities(object("instance_info")), capabilities(object("properties"))
	mode := object("instance_info")["deploy_boot_mode"]
	switch {
	case mode != nil:
	case own["boot_mode"] != "":
		mode = own["boot_mode"]
	default:
		mode = object("driver_internal_info")["deploy_boot_mode"]
	}
	uefi = strings.EqualFold(fmt.Sprint(mode), "uefi") || strings.EqualFold(instance["secure_boot"], "true") ||
		strings.EqualFold(own["secure_boot"], "true")
	return uefi, uefi || cmp.Or(instance["disk_label"], own["disk_label"]) == "gpt"
}

// capabilities returns the capabilities of a node's properties or instance_info: an object, the text of one in JSON, or
// a text such as "boot_mode:uefi,disk_label:gpt".
//
// Source: parse_capabilities in ironic_python_agent/utils.py.
func capabilities(info map[string]any) map[string]string {
	all := map[string]string{}
	object, _ := info["capabilities"].(map[string]any)
	if text, ok := info["capabilities"].(string); ok && json.Unmarshal([]byte(text), &object) != nil {
		for _, pair := range strings.Split(text, ",") {
			name, value, _ := strings.Cut(pair, ":")
			all[name] = value
		}
	}
	for name, value := range object {
		all[name] = fmt.Sprint(value)
	}
	return all
}
