// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/states"
)

// medium is the source of a boot: the URL of an ISO image, or the URLs of the files that one is built from.
type medium struct {
	iso                         string
	kernel, ramdisk, bootloader string
	// prefix begins the keys of the kernel and the ramdisk: "deploy_" or "rescue_", and "" for an instance.
	prefix string
	// parameters are kernel parameters of the ramdisk. They come before the boot interface's.
	parameters string
	// parametersField and parametersKey say where the parameters come from.
	parametersField, parametersKey string
	// instance is set for an instance, which receives no configuration for an agent.
	instance bool
}

// field returns the field of the node that names the kernel and the ramdisk.
func (m medium) field() string {
	if m.instance {
		return "instance_info"
	}
	return "driver_info"
}

// agentMedium returns the medium with the agent's ramdisk, or an error if driver_info names none that can be
// provided.
//
// Source: _parse_driver_info in ironic/drivers/modules/redfish/boot.py.
func (b mediaBoot) agentMedium(n Node) (medium, error) {
	i := info{n.Node}
	if err := i.checkUnused(usedByMedia); err != nil {
		return medium{}, err
	}
	m, err := agentFiles(n, true)
	if err != nil {
		return m, err
	}
	if m.iso != "" {
		return medium{iso: m.iso}, b.checkISO(n, "driver_info", m.prefix+"iso", m.iso)
	}
	m = n.config.agentDefaults(n, m)
	what := n.Chosen.Boot.Name()
	if what == "redfish-virtual-media" {
		what = "Redfish virtual media" // Ironic's words
	}
	if err := m.requireFiles("Error validating " + what + ". Some parameters were missing in node's driver_info"); err != nil {
		return m, err
	}
	m.bootloader = cmp.Or(m.bootloader, n.config.bootFiles(n).Bootloader)
	if n.config.APIURL == "" {
		return m, unsupported(n, "driver_info", m.prefix+"kernel",
			"the URL at which agents reach the API is not configured, which the agent's image contains")
	}
	return m, b.checkBuild(n, m)
}

// agentFiles returns the kernel and the ramdisk that driver_info names for the agent, each "" if it is missing, with
// the prefix of their keys. For virtual media it returns the boot loader too, or an image in place of all.
func agentFiles(n Node, media bool) (m medium, err error) {
	i := info{n.Node}
	for _, mode := range agentModes(n) {
		m.prefix = mode + "_"
		keys := map[string]*string{mode + "_kernel": &m.kernel, mode + "_ramdisk": &m.ramdisk}
		if media {
			keys[mode+"_iso"], keys["bootloader"] = &m.iso, &m.bootloader
		}
		if err := i.texts(keys); err != nil || m.iso != "" {
			return m, err
		}
		if err := n.config.checkWhole(n, m); err != nil {
			return m, err
		}
		if m.kernel != "" && m.ramdisk != "" {
			break
		}
	}
	return m, nil
}

// bootFiles returns the files for the architecture of a node.
func (c Config) bootFiles(n Node) BootFiles {
	architecture, _ := n.Properties["cpu_arch"].(string)
	files := c.ByArchitecture[architecture]
	if files.Kernel == "" {
		files.Kernel, files.Ramdisk = c.DeployKernel, c.DeployRamdisk
	}
	files.Bootloader = cmp.Or(files.Bootloader, c.Bootloader)
	return files
}

// agentDefaults returns the medium of an agent with the kernel parameters, and with the kernel and the ramdisk of the
// Config unless the node has both.
func (c Config) agentDefaults(n Node, m medium) medium {
	if m.kernel == "" || m.ramdisk == "" {
		files := c.bootFiles(n)
		m.kernel, m.ramdisk = files.Kernel, files.Ramdisk
	}
	m.parameters, m.parametersField, m.parametersKey = c.KernelParameters, "the service's configuration", "kernel_append_params"
	for _, object := range []struct {
		field  string
		values map[string]any
	}{{"driver_info", n.DriverInfo}, {"instance_info", n.InstanceInfo}} {
		if value, ok := object.values["kernel_append_params"].(string); ok {
			m.parameters, m.parametersField = strings.ReplaceAll(value, "%default%", c.KernelParameters), object.field
		}
	}
	return m
}

// checkWhole refuses half of a ramdisk in driver_info, if the Config says so.
//
// Source: _get_kernel_ramdisk_from_node in ironic/drivers/utils.py.
func (c Config) checkWhole(n Node, m medium) error {
	if !c.WholeRamdisks || (m.kernel == "") == (m.ramdisk == "") {
		return nil
	}
	has, lacks := m.prefix+"kernel", m.prefix+"ramdisk"
	if m.kernel == "" {
		has, lacks = lacks, has
	}
	return invalidf("The driver_info of node %s has %s, but not %s: it is ambiguous which ramdisk the machine boots", n.UUID, has, lacks)
}

// requireFiles returns an error that begins with what and lists the keys of the kernel and the ramdisk that are empty.
// It returns nil if neither is.
//
// Source: check_for_missing_params in ironic/drivers/modules/deploy_utils.py.
func (m medium) requireFiles(what string) error {
	var missing []string
	for _, file := range []struct{ key, url string }{{"kernel", m.kernel}, {"ramdisk", m.ramdisk}} {
		if file.url == "" {
			missing = append(missing, "'"+m.prefix+file.key+"'")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return invalidf("%s. Missing are: [%s]", what, strings.Join(missing, ", "))
}

// agentModes returns the prefixes of the keys that name the agent's ramdisk, in the order in which they are tried.
//
// Source: rescue_or_deploy_mode in ironic/drivers/modules/deploy_utils.py.
func agentModes(n Node) []string {
	switch n.ProvisionState.Work() {
	case states.WorkRescue, states.WorkUnrescue:
		return []string{"rescue", "deploy"}
	}
	return []string{"deploy"}
}

// instanceFiles returns what instance_info names for an instance of the deploy interface "ramdisk".
func instanceFiles(n Node) medium {
	text := func(key string) string { value, _ := n.InstanceInfo[key].(string); return value }
	return medium{
		iso: text("boot_iso"), kernel: text("kernel"), ramdisk: text("ramdisk"), instance: true,
		parameters:      strings.TrimSpace("root=/dev/ram0 text " + text("ramdisk_kernel_arguments")),
		parametersField: "instance_info", parametersKey: "ramdisk_kernel_arguments",
	}
}

// instanceMedium returns the medium of an instance of the deploy interface "ramdisk".
//
// Source: get_image_instance_info in ironic/drivers/modules/deploy_utils.py.
func (b mediaBoot) instanceMedium(n Node) (m medium, err error) {
	m = instanceFiles(n)
	if m.iso != "" {
		if source, _ := n.InstanceInfo["image_source"].(string); source != "" {
			return m, invalidf("An 'image_source' and 'boot_iso' parameter may not be specified at the same time.")
		}
		return m, b.checkISO(n, "instance_info", "boot_iso", m.iso)
	}
	err = m.requireFiles("Cannot validate image information for node " + n.UUID +
		" because one or more parameters are missing from its instance_info " +
		"and insufficient information is present to boot from a remote volume")
	if err != nil {
		return m, err
	}
	if m.bootloader, err = (info{n.Node}).text("bootloader"); err != nil {
		return m, err
	}
	m.bootloader = cmp.Or(m.bootloader, n.config.bootFiles(n).Bootloader)
	return m, b.checkBuild(n, m)
}

// mediumFinder is a boot interface that finds what a node boots from its record.
type mediumFinder interface {
	agentMedium(n Node) (medium, error)
	instanceMedium(n Node) (medium, error)
}

// checkMedium refuses a node whose boot interface finds no usable medium: one for the instance if the deploy interface
// boots a ramdisk, and otherwise one for the agent.
func checkMedium(b mediumFinder, n Node) error {
	find := b.agentMedium
	if n.Chosen.Deploy.BootsRamdisk() {
		find = b.instanceMedium
	}
	_, err := find(n)
	return err
}

// unsupported returns the error of a value of a node that its boot interface does not support.
func unsupported(n Node, field, key, why string) error {
	return invalidf("Node %s has %s in %s, which the boot interface %s of driver %s cannot realise: %s.",
		n.UUID, key, field, n.Chosen.Boot.Name(), n.Driver, why)
}

// checkISO refuses an image that neither the BMC can load nor this process can serve.
func (b mediaBoot) checkISO(n Node, field, key, iso string) error {
	if source := n.InstanceInfo["ramdisk_image_download_source"]; field == "instance_info" && source != nil && source != "http" {
		return unsupported(n, field, "ramdisk_image_download_source", "only http is supported, with which the BMC loads the image itself")
	}
	if loadable(iso) {
		return nil
	}
	if n.config.Images == nil {
		return unsupported(n, field, key, "it must be an http or https URL that the BMC can load, since no images are served")
	}
	if err := n.config.Images.CheckSource(iso); err != nil {
		return unsupported(n, field, key, err.Error())
	}
	return nil
}

// loadable reports whether a BMC can load the image at a URL.
func loadable(image string) bool {
	at, err := url.Parse(image)
	return err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Host != ""
}

// checkBuild refuses a medium of which no image can be built.
func (b mediaBoot) checkBuild(n Node, m medium) error {
	field, kernel := m.field(), m.prefix+"kernel"
	if n.config.Images == nil {
		return unsupported(n, field, kernel, "no images are built and served")
	}
	for _, source := range []struct{ field, key, url string }{
		{field, kernel, m.kernel},
		{field, m.prefix + "ramdisk", m.ramdisk},
		{"driver_info", "bootloader", m.bootloader},
	} {
		if err := n.config.Images.CheckSource(source.url); source.url != "" && err != nil {
			return unsupported(n, source.field, source.key, err.Error())
		}
	}
	isolinux, _ := b.isolinux(n)
	switch mode := n.WantedBootMode(); {
	case mode == "bios" && isolinux == "":
		return unsupported(n, field, kernel, "the folder of images has no isolinux.bin, which boots a machine in BIOS mode")
	case mode != "bios" && m.bootloader == "":
		return unsupported(n, field, kernel,
			"driver_info has no bootloader, the image of an EFI system partition, which boots a machine in UEFI mode")
	}
	if _, err := bootimage.ParseParameters(m.parameters); err != nil {
		return unsupported(n, m.parametersField, m.parametersKey, err.Error())
	}
	return nil
}

// withParameters returns a line of kernel parameters with further ones.
func withParameters(line string, parameters map[string]string) string {
	for name, value := range sorted.All(parameters) {
		line += " " + name + "=" + value
	}
	return line
}

// isolinux returns the URLs of the boot loader for BIOS machines, empty where the operator has not put it into the
// folder of images.
func (mediaBoot) isolinux(n Node) (isolinux, ldlinux string) {
	if source, ok := n.config.Images.File("isolinux.bin"); ok {
		isolinux = source
	}
	if source, ok := n.config.Images.File("ldlinux.c32"); ok {
		ldlinux = source
	}
	return isolinux, ldlinux
}

// provide returns the URL from which the BMC loads a medium. It builds the image and publishes it, unless
// the medium is an image at a URL.
//
// Source: _prepare_iso_image in ironic/drivers/modules/image_utils.py.
func (b mediaBoot) provide(ctx context.Context, n Node, m medium, parameters map[string]string) (string, error) {
	if loadable(m.iso) {
		return m.iso, nil
	}
	server := n.config.Images
	if m.iso != "" {
		return server.Publish(n.UUID, ".iso", func(f *os.File) error { return server.DownloadImage(ctx, m.iso, f) })
	}
	folder, err := os.MkdirTemp(server.Temporary(), "node-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	i := bootimage.Image{Publisher: uuid.NewString()}
	line := m.parameters
	if m.instance {
		i.Publisher = ""
	} else {
		line += " ir_pub_id=" + i.Publisher
		if len(n.NetworkData) > 0 {
			if i.NetworkData, err = json.MarshalIndent(n.NetworkData, "", "  "); err != nil {
				return "", err
			}
		}
	}
	if i.Parameters, err = bootimage.ParseParameters(withParameters(line, parameters)); err != nil {
		return "", err
	}
	isolinux, ldlinux := "", ""
	if n.WantedBootMode() != "uefi" {
		isolinux, ldlinux = b.isolinux(n)
	}
	for _, part := range []struct {
		path   *string
		source string
	}{{&i.Kernel, m.kernel}, {&i.Ramdisk, m.ramdisk}, {&i.ESP, m.bootloader}, {&i.Isolinux, isolinux}, {&i.Ldlinux, ldlinux}} {
		if part.source == "" {
			continue
		}
		if *part.path, err = server.Fetch(ctx, part.source, folder); err != nil {
			return "", err
		}
	}
	return server.Publish(n.UUID, ".iso", func(f *os.File) error { return i.Write(f, folder) })
}
