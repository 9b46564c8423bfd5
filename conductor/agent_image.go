// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ironstate/ironstate/internal/oslobool"
	"github.com/ironstate/ironstate/internal/pyrepr"
)

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
	file := strings.HasPrefix(i.Source, "file://")
	if i.Source == "" {
		return i, refuse(Invalid, "Node %s failed to validate deploy image info. Some parameters were missing. "+
			"Missing are: ['instance_info.image_source']", n.UUID)
	}
	if kind := n.InstanceInfo["image_type"]; kind != nil && kind != "" && kind != "whole-disk" && kind != "partition" {
		return i, refuse(Invalid, "Invalid image_type %q, valid are partition, whole-disk", fmt.Sprint(kind))
	}
	if !file && ((i.Algorithm == "") != (i.Hash == "") || i.Hash == "" && i.Checksum == "") {
		return i, refuse(Invalid, `image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" `+
			`must be provided in instance_info for node %s`, n.UUID)
	}
	from := n.imageDownloadSource(downloadSource)
	if !slices.Contains([]any{"swift", "http", "local"}, from) {
		return i, refuse(Invalid, "Invalid value for image_download_source: %q. Valid values are swift, http or local.", fmt.Sprint(from))
	}
	if i.Local = file || from == "local"; !file && !strings.HasPrefix(i.Source, "http://") && !strings.HasPrefix(i.Source, "https://") {
		return i, refuse(Invalid, "Node %s has the image_source %q, which is not an http, https or file URL: no other image can be written.",
			n.UUID, i.Source)
	}
	if err := n.validateImageProxies(); err != nil {
		return i, err
	}
	if n.Deployment.WholeDisk != nil && !*n.Deployment.WholeDisk {
		if _, err := partitionLayout(n); err != nil {
			return i, err
		}
	}
	return i, nil
}

// noteImageType records whether the image is a whole-disk or a partition image. An image with a
// separate kernel or ramdisk is a partition image. The type of an image in Glance is not recorded,
// since this package sends no requests to Glance.
//
// Source: update_image_type in ironic/conductor/utils.py.
func (n *Node) noteImageType() {
	source, _ := n.InstanceInfo["image_source"].(string)
	if !strings.Contains(source, "://") || strings.HasPrefix(source, "glance://") || strings.HasSuffix(source, "/") {
		return
	}
	kind := n.InstanceInfo["image_type"]
	wholeDisk := kind != "partition"
	if !pyrepr.Truthy(kind) {
		wholeDisk = n.InstanceInfo["kernel"] == nil && n.InstanceInfo["ramdisk"] == nil
	}
	name := "partition"
	if wholeDisk {
		name = "whole-disk"
	}
	set(&n.InstanceInfo, "image_type", name)
	n.Deployment.WholeDisk = &wholeDisk
}

// imageDownloadSource returns who downloads the image of the node's instance: the first that is set of the values in
// instance_info, in driver_info and of the configuration.
//
// Source: get_image_download_source in ironic/drivers/modules/deploy_utils.py.
func (n *Node) imageDownloadSource(configured string) any {
	for _, info := range []map[string]any{n.InstanceInfo, n.DriverInfo} {
		if value := info["image_download_source"]; value != nil && value != "" {
			return value
		}
	}
	return cmp.Or(configured, "http")
}

// The patterns of image_no_proxy and of the scheme of a proxy's URL.
var (
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)
)

// validateImageProxies refuses proxies that the agent cannot use. The error does not quote a proxy, which may contain a
// password.
//
// Source: validate_image_proxies in ironic/drivers/modules/agent.py and is_valid_no_proxy in ironic/common/utils.py.
func (n *Node) validateImageProxies() error {
	var invalid []string
	for _, key := range []string{"image_http_proxy", "image_https_proxy"} {
		value := n.DriverInfo[key]
		if value == nil || value == "" {
			continue
		}
		proxy, ok := value.(string)
		scheme := schemePattern.FindStringSubmatch(proxy)
		if !ok || scheme != nil && !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme[1])) {
			invalid = append(invalid, key)
		}
	}
	if len(invalid) > 0 {
		return refuse(Invalid, "Proxy URL should either have HTTP(S) scheme or no scheme at all, "+
			"the following URLs are invalid: %s.", strings.Join(invalid, ", "))
	}
	if value := n.DriverInfo["image_no_proxy"]; value != nil && !validNoProxy(value) {
		return refuse(Invalid, "image_no_proxy should be a list of host names, IP addresses or domain names to exclude from proxying, "+
			"the specified list %v is incorrect. To denote a domain name, prefix it with a dot (instead of e.g. '.*').", value)
	}
	return nil
}

func validNoProxy(value any) bool {
	list, ok := value.(string)
	wrong := func(part string) bool { return !hostPattern.MatchString(part) }
	for host := range strings.SplitSeq(list, ",") {
		host, _, _ = strings.Cut(strings.TrimSpace(host), ":")
		domain, isDomain := strings.CutPrefix(host, ".")
		most := 253
		if isDomain {
			most = 251
		}
		if host != "" && (len(domain) > most || slices.ContainsFunc(strings.Split(domain, "."), wrong)) {
			return false
		}
	}
	return ok
}

// partitionKeys are the keys of instance_info that are sent to the agent with a partition image.
var partitionKeys = []string{"kernel", "ramdisk", "root_gb", "ephemeral_format", "preserve_ephemeral", "image_type"}

// partitionSizes are the sizes of the partitions beside a partition image: the key of instance_info, and the key and
// the factor for the agent's size in MiB.
var partitionSizes = []struct {
	key, agentKey string
	factor        int64
}{{"root_gb", "root_mb", 1024}, {"swap_mb", "swap_mb", 1}, {"ephemeral_gb", "ephemeral_mb", 1024}}

// partitionLayout returns the part of image_info from which the agent makes the partitions of a partition image.
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
	preserve, ok := oslobool.Parse(fmt.Sprint(cmp.Or(layout["preserve_ephemeral"], any(false))))
	if !ok {
		return nil, refuse(Invalid, "Invalid parameter preserve_ephemeral: %v is not a boolean.", layout["preserve_ephemeral"])
	}
	layout["preserve_ephemeral"] = preserve
	return layout, nil
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
	simulated := t.engine.rules.description(n).Simulated
	return t.Update(ctx, func(n *Node) error {
		set(&n.InstanceInfo, "image_url", image.Source)
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
	image, err := imageInfo(t.Node())
	if err != nil {
		return err
	}
	args := map[string]any{"image_info": image, "configdrive": nil}
	if drive != nil && drive != "" {
		image["configdrive"], args["configdrive"] = drive, drive
	}
	return t.sendStep(ctx, args)
}

// imageInfo returns image_info for the agent's step write_image, without the configuration drive.
//
// Source: write_image of AgentDeploy in ironic/drivers/modules/agent.py.
func imageInfo(n *Node) (map[string]any, error) {
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
	if n.Deployment.isWholeDisk() {
		return image, nil
	}
	layout, err := partitionLayout(n)
	maps.Copy(image, layout)
	image["deploy_boot_mode"], image["boot_option"] = n.agentBootMode(), "local"
	if label := n.InstanceCapabilities()["disk_label"]; label != nil {
		image["disk_label"] = label
	} else if n.agentBootMode() == "uefi" {
		image["disk_label"] = "gpt"
	}
	return image, err
}

// agentBootMode returns the boot mode that is sent to the agent, UEFI by default.
func (n *Node) agentBootMode() string { return cmp.Or(n.WantedBootMode(), "uefi") }
