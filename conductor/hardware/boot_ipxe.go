// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

// The texts about the keys of driver_info that name the agent's ramdisk.
const (
	agentKernelText = "With ipxe and virtual media: URL of the agent's kernel, which the machine boots with deploy_ramdisk: " +
		"http, https, or file for one in the service's folder of images. The service may have defaults."
	agentRamdiskText    = "With ipxe and virtual media: URL of the agent's ramdisk."
	agentParametersText = "With deploy_kernel: kernel parameters; %default% stands for the service's own."
)

// IPXE returns the boot interface "ipxe". With Config.Images it serves a script for each of the node's ports, and
// the kernel and the ramdisk that the script loads. For a node without a ramdisk, and without Config.Images, it only
// sets the boot device: another service chooses the image that the machine boots.
//
// Source: ironic/drivers/modules/pxe_base.py.
func IPXE() Boot { return scriptBoot{} }

type scriptBoot struct{ networkBoot }

func (scriptBoot) Name() string { return "ipxe" }

func (scriptBoot) Properties() map[string]string {
	return map[string]string{
		persistenceKey:         persistenceText,
		"deploy_kernel":        agentKernelText,
		"deploy_ramdisk":       agentRamdiskText,
		"rescue_kernel":        "As deploy_kernel, for a rescue.",
		"rescue_ramdisk":       "As deploy_ramdisk, for a rescue.",
		"kernel_append_params": agentParametersText,
	}
}

func (scriptBoot) Serves(n Node) bool { return n.config.Images != nil }

func (b scriptBoot) Validate(n Node) error {
	if err := b.networkBoot.Validate(n); err != nil {
		return err
	}
	return checkMedium(b, n)
}

func (b scriptBoot) ServesAgent(n Node) (bool, error) {
	m, err := b.agentMedium(n)
	return err == nil && m.kernel != "", err
}

// agentMedium returns the kernel and ramdisk of the node's agent, or the zero value if neither is named.
//
// Source: parse_driver_info in ironic/common/pxe_utils.py.
func (b scriptBoot) agentMedium(n Node) (m medium, err error) {
	if err := b.networkBoot.Validate(n); err != nil || !b.Serves(n) {
		return medium{}, err
	}
	m, err = agentFiles(n, false)
	if err != nil {
		return m, err
	}
	named := m.kernel != "" || m.ramdisk != ""
	if m = n.config.agentDefaults(n, m); !named && m.kernel == "" && m.ramdisk == "" {
		return medium{}, nil
	}
	err = m.requireFiles("Cannot validate PXE bootloader. Some parameters were missing in node's driver_info and configuration")
	if err != nil {
		return m, err
	}
	if n.config.APIURL == "" {
		return m, unsupported(n, "driver_info", m.prefix+"kernel",
			"the URL at which agents reach the API is not configured, which the agent's kernel parameters contain")
	}
	return m, b.check(n, m)
}

// instanceMedium returns the medium of an instance of the deploy interface "ramdisk", or the zero value if it names
// none.
//
// Source: get_instance_image_info in ironic/common/pxe_utils.py.
func (b scriptBoot) instanceMedium(n Node) (m medium, err error) {
	if !b.Serves(n) {
		return medium{}, nil
	}
	switch m = instanceFiles(n); {
	case m.iso != "":
		if _, err := scriptParameters(m.iso); err != nil || !loadable(m.iso) || strings.Contains(m.iso, " ") {
			return m, unsupported(n, "instance_info", "boot_iso", "it must be an http or https URL that an iPXE script can name")
		}
		return m, nil
	case m.kernel == "" && m.ramdisk == "":
		return m, nil
	}
	err = m.requireFiles("Cannot validate image information for node " + n.UUID +
		" because one or more parameters are missing from its instance_info")
	if err != nil {
		return m, err
	}
	return m, b.check(n, m)
}

// check refuses a kernel and a ramdisk that cannot be served, and kernel parameters that a script cannot express.
func (b scriptBoot) check(n Node, m medium) error {
	for _, source := range []struct{ key, url string }{{"kernel", m.kernel}, {"ramdisk", m.ramdisk}} {
		if err := n.config.Images.CheckSource(source.url); err != nil {
			return unsupported(n, m.field(), m.prefix+source.key, err.Error())
		}
	}
	if _, err := scriptParameters(m.parameters); err != nil {
		return unsupported(n, m.parametersField, m.parametersKey, err.Error())
	}
	return nil
}

func (b scriptBoot) PrepareRamdisk(ctx context.Context, t Task, parameters map[string]string) error {
	m, err := b.agentMedium(t.Node())
	if err != nil {
		return err
	}
	if m.kernel != "" {
		own := map[string]string{"ipa-api-url": t.config.APIURL}
		maps.Copy(own, parameters)
		if err := b.publish(ctx, t, m, own); err != nil {
			return err
		}
	}
	return b.networkBoot.PrepareRamdisk(ctx, t, parameters)
}

func (scriptBoot) CleanUpRamdisk(_ context.Context, t Task) error {
	return t.config.withdraw(t.Node(), "")
}

func (b scriptBoot) PrepareInstance(ctx context.Context, t Task) error {
	if err := t.config.withdraw(t.Node(), ""); err != nil {
		return err
	}
	if t.Chosen.Deploy.BootsRamdisk() {
		m, err := b.instanceMedium(t.Node())
		if err != nil {
			return err
		}
		if m.iso != "" || m.kernel != "" {
			if err := b.publish(ctx, t, m, nil); err != nil {
				return err
			}
		}
	}
	return b.networkBoot.PrepareInstance(ctx, t)
}

func (b scriptBoot) CleanUpInstance(ctx context.Context, t Task) error {
	if err := t.config.withdraw(t.Node(), ""); err != nil {
		return err
	}
	return b.networkBoot.CleanUpInstance(ctx, t)
}

// NeedsPort implements [PortNeeder]: a script is published for the addresses of the node's ports.
func (b scriptBoot) NeedsPort(n Node) bool {
	served, _ := b.agentMedium(n) // the validation reports its error
	if n.Chosen.Deploy.BootsRamdisk() {
		served, _ = b.instanceMedium(n)
	}
	return served.iso != "" || served.kernel != "" // otherwise the network has its own files
}

// publish publishes the kernel and the ramdisk, and the script that loads them, or boots an ISO image at its URL.
func (b scriptBoot) publish(ctx context.Context, t Task, m medium, parameters map[string]string) error {
	n, server := t.Node(), t.config.Images
	ports, err := t.Ports(ctx)
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		return invalidf("Node %s does not have any port associated with it", n.UUID)
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
	line = withParameters(line, parameters)
	var kernel, initrd string
	for _, part := range []struct {
		location       *string
		source, suffix string
	}{{&kernel, m.kernel, ".kernel"}, {&initrd, m.ramdisk, ".ramdisk"}} {
		*part.location, err = server.Publish(n.UUID, part.suffix, func(f *os.File) error {
			return server.DownloadSource(ctx, part.source, f)
		})
		if err != nil {
			return fmt.Errorf("provide the files to boot: %w", err)
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
// does not boot its disk.
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
