// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

// networkScript is the name of the boot interface whose scripts and files are served here.
const networkScript = "ipxe"

// The texts about the keys of driver_info that name the agent's ramdisk.
const (
	agentKernelText     = "With redfish-virtual-media and ipxe: URL of the agent's kernel, which the machine boots with deploy_ramdisk: http, https, or file for one in the service's folder of images. The service may have defaults."
	agentRamdiskText    = "With redfish-virtual-media and ipxe: URL of the agent's ramdisk."
	agentParametersText = "With deploy_kernel: kernel parameters; %default% stands for those of the service."
)

// scriptBoot is the boot interface "ipxe" with Config.Images, which serves a script for each of the node's ports, and
// the kernel and the ramdisk that the script loads. For a node without a ramdisk it only sets the boot device: another
// service decides what the machine boots.
//
// Source: ironic/drivers/modules/pxe_base.py.
type scriptBoot struct{ networkBoot }

func (b scriptBoot) validate(n *conductor.Node) error {
	if b.chosen(n, "deploy") == ramdisk {
		_, err := b.instanceMedium(n)
		return err
	}
	_, err := b.agentMedium(n)
	return err
}

// agentMedium returns the kernel and ramdisk of the node's agent, or the zero value if neither is named.
//
// Source: parse_driver_info in ironic/common/pxe_utils.py.
func (b scriptBoot) agentMedium(n *conductor.Node) (m medium, err error) {
	for _, mode := range agentModes(n) {
		if err := (info{n}).texts(map[string]*string{mode + "_kernel": &m.kernel, mode + "_ramdisk": &m.ramdisk}); err != nil {
			return m, err
		}
		if m.kernel != "" && m.ramdisk != "" {
			break
		}
	}
	named := m.kernel != "" || m.ramdisk != ""
	if m = b.config.agentDefaults(n, m); !named && m.kernel == "" && m.ramdisk == "" {
		return medium{}, nil
	}
	if err := missing("Cannot validate PXE bootloader. Some parameters were missing in node's driver_info and configuration",
		value{"deploy_kernel", m.kernel}, value{"deploy_ramdisk", m.ramdisk}); err != nil {
		return m, err
	}
	if b.config.APIURL == "" {
		return m, unsupported(n, networkScript, "driver_info", "deploy_kernel", "the address of the API is not configured (-api-url), which the agent's kernel parameters contain")
	}
	return m, b.check(n, "driver_info", "deploy_", m)
}

// instanceMedium returns what an instance of the deploy interface "ramdisk" boots, or the zero value if it names nothing.
//
// Source: get_instance_image_info in ironic/common/pxe_utils.py.
func (b scriptBoot) instanceMedium(n *conductor.Node) (m medium, err error) {
	text := func(key string) string { value, _ := n.InstanceInfo[key].(string); return value }
	m = medium{iso: text("boot_iso"), kernel: text("kernel"), ramdisk: text("ramdisk"), instance: true}
	switch {
	case m.iso != "":
		if _, err := scriptParameters(m.iso); err != nil || !loadable(m.iso) || strings.Contains(m.iso, " ") {
			return m, unsupported(n, networkScript, "instance_info", "boot_iso", "it must be an http or https URL that an iPXE script can name")
		}
		return m, nil
	case m.kernel == "" && m.ramdisk == "":
		return m, nil
	}
	if err := missing("Cannot validate image information for node "+n.UUID+" because one or more parameters are missing from its instance_info",
		value{"kernel", m.kernel}, value{"ramdisk", m.ramdisk}); err != nil {
		return m, err
	}
	m.parameters = strings.TrimSpace("root=/dev/ram0 text " + text("ramdisk_kernel_arguments"))
	return m, b.check(n, "instance_info", "", m)
}

// check refuses a kernel and a ramdisk that cannot be served, and kernel parameters that a script cannot express.
func (b scriptBoot) check(n *conductor.Node, field, prefix string, m medium) error {
	for _, source := range []value{{"kernel", m.kernel}, {"ramdisk", m.ramdisk}} {
		if err := b.config.Images.CheckSource(source.text); err != nil {
			return unsupported(n, networkScript, field, prefix+source.key, err.Error())
		}
	}
	if _, err := scriptParameters(m.parameters); err != nil {
		return unsupported(n, networkScript, field, "kernel_append_params", err.Error())
	}
	return nil
}

func (b scriptBoot) prepareRamdisk(ctx context.Context, t *conductor.Task, parameters map[string]string) error {
	m, err := b.agentMedium(t.Node())
	if err != nil {
		return err
	}
	if m.kernel != "" {
		parameters = maps.Clone(parameters)
		if parameters == nil {
			parameters = map[string]string{}
		}
		parameters["ipa-api-url"] = b.config.APIURL
		if err := b.publish(ctx, t, m, parameters); err != nil {
			return err
		}
	}
	return b.networkBoot.prepareRamdisk(ctx, t, parameters)
}

func (b scriptBoot) cleanUpRamdisk(_ context.Context, t *conductor.Task) error {
	return b.config.Images.Withdraw(t.Node().UUID, "")
}

func (b scriptBoot) prepareInstance(ctx context.Context, t *conductor.Task) error {
	if err := b.config.Images.Withdraw(t.Node().UUID, ""); err != nil {
		return err
	}
	if n := t.Node(); b.chosen(n, "deploy") == ramdisk {
		m, err := b.instanceMedium(n)
		if err != nil {
			return err
		}
		if m.iso != "" || m.kernel != "" {
			if err := b.publish(ctx, t, m, nil); err != nil {
				return err
			}
		}
	}
	return b.networkBoot.prepareInstance(ctx, t)
}

func (b scriptBoot) cleanUpInstance(ctx context.Context, t *conductor.Task) error {
	if err := b.config.Images.Withdraw(t.Node().UUID, ""); err != nil {
		return err
	}
	return b.networkBoot.cleanUpInstance(ctx, t)
}

// publish publishes the kernel and the ramdisk, and the script that loads them, or boots an ISO image at its URL.
func (b scriptBoot) publish(ctx context.Context, t *conductor.Task, m medium, parameters map[string]string) error {
	n, server := t.Node(), b.config.Images
	ports, err := t.Ports(ctx)
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		return &conductor.Error{Reason: conductor.Invalid, Text: fmt.Sprintf("Node %s does not have any port associated with it", n.UUID)}
	}
	scripts := make(map[string]string, len(ports))
	if m.iso != "" {
		for _, port := range ports {
			scripts[port.Address] = fmt.Sprintf("#!ipxe\n\nsanboot %s\n", m.iso)
		}
		return server.PublishScripts(n.UUID, scripts)
	}
	line, err := scriptParameters(m.parameters)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		line += " " + name + "=" + parameters[name]
	}
	folder, err := os.MkdirTemp(server.Temporary(), "node-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var kernel, initrd string
	for _, part := range []struct {
		location       *string
		source, suffix string
	}{{&kernel, m.kernel, ".kernel"}, {&initrd, m.ramdisk, ".ramdisk"}} {
		path, err := server.Fetch(ctx, part.source, folder)
		if err != nil {
			return fmt.Errorf("provide the files to boot: %w", err)
		}
		if *part.location, err = server.Publish(n.UUID, part.suffix, func(f *os.File) error { return copyFile(f, path) }); err != nil {
			return err
		}
	}
	for _, port := range ports {
		own := line
		if !m.instance {
			own += " BOOTIF=" + port.Address // the interface by which the agent has booted
		}
		scripts[port.Address] = kernelScript(kernel, initrd, own)
	}
	return server.PublishScripts(n.UUID, scripts)
}

// attempts is the number of times that a script tries to load its files. The machine is then powered off, so that it
// does not boot what is on its disk.
const attempts = 10

// kernelScript returns the script that boots a kernel and a ramdisk.
//
// Source: ironic/drivers/modules/ipxe_config.template.
func kernelScript(kernel, ramdisk, parameters string) string {
	return fmt.Sprintf(`#!ipxe

set attempt:int32 1
:load
imgfree
kernel %s initrd=ramdisk %s || goto failed
initrd --name ramdisk %s || goto failed
boot

:failed
iseq ${attempt} %d && poweroff ||
inc attempt
sleep ${attempt}
goto load
`, kernel, parameters, ramdisk, attempts)
}

// scriptParameters returns kernel parameters as iPXE passes them to Linux: it would expand settings, remove double
// quotes, and end the command at a separator.
func scriptParameters(line string) (string, error) {
	parameters, err := bootimage.ParseParameters(line)
	if err != nil {
		return "", err
	}
	for _, p := range parameters {
		if strings.Contains(p, `"`) || strings.Contains(p, "${") || slices.Contains([]string{"#", ";", "&&", "||"}, p) {
			return "", fmt.Errorf("kernel parameters with %s, which an iPXE script cannot express", p)
		}
	}
	return strings.Join(parameters, " "), nil
}
