// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/states"
)

// Config configures a hardware type. The zero value is ready for use.
type Config struct {
	// Series is the series of Ironic whose behaviour the types have where the [conductor.Task] does not say it; NoSeries
	// stands for the latest.
	Series states.Series
	// CheckManagement makes a verification also read the boot device, as the specification
	// of the state enroll requires. Ironic's code does not read it.
	CheckManagement bool
	// AnyBIOSSetting lets the step apply_configuration send a setting of which the BMC has no registry, as Ironic does.
	// Its type is then unknown, and the BMC may take a wrong one without an error. False refuses such a setting.
	AnyBIOSSetting bool
	// Timeout bounds a call of a BMC; 0 stands for 30 s, and by IPMI for 90 s.
	Timeout time.Duration
	// SkipBMCPorts lets an inspection by the agent create no ports of the network interfaces that the BMC reports
	// ([inspector]pre_create_ports = False). Ironic has the option since 2026.2.
	SkipBMCPorts bool
	// VerifyCA is the path of a file or folder with the certificates of the authorities that are trusted for the nodes
	// whose driver_info has no path in redfish_verify_ca; if empty, the operating system's ([redfish]verify_ca).
	VerifyCA string
	// Pause is the time until a Redfish request is sent again that has failed for the moment; 0 stands for 3 s.
	Pause time.Duration
	// Log is told of each request to a BMC that fails for the moment and that is repeated; nil stands for none.
	Log *slog.Logger
	// Sessions bounds the Redfish sessions of all nodes that stay open between calls; 0
	// stands for 1000 ([redfish]connection_cache_size), and a negative number keeps none
	// open.
	Sessions int
	// Images serves what machines boot from kernels and ramdisks in driver_info or instance_info: images for virtual
	// media, and scripts and files for ipxe. Nil refuses them for virtual media, and makes ipxe the same as pxe; a BMC
	// loads an image with a URL of its own by itself.
	Images *images.Server
	// Client requests the headers of the images that agents download; nil stands for an [images.NewClient] without
	// hosts.
	Client *http.Client
	// APIURL is the URL at which agents reach the API (external_callback_url), such as
	// http://192.0.2.1:6385. It is needed with deploy_kernel and deploy_ramdisk.
	APIURL string
	// DeployKernel and DeployRamdisk are the URLs of the agent's kernel and ramdisk for nodes whose
	// driver_info lacks one of them, and Bootloader is the URL of the boot loader for nodes whose
	// driver_info has none (deploy_kernel, deploy_ramdisk, bootloader).
	DeployKernel, DeployRamdisk, Bootloader string
	// ByArchitecture has others in place of the three above for nodes with a cpu_arch in their properties, such as
	// "aarch64" (deploy_kernel_by_arch, deploy_ramdisk_by_arch, bootloader_by_arch).
	ByArchitecture map[string]BootFiles
	// WholeRamdisks refuses a node whose driver_info has a kernel without a ramdisk or a ramdisk without a kernel;
	// otherwise such a node boots the Config's kernel and ramdisk (error_on_ramdisk_config_inconsistency).
	WholeRamdisks bool
	// KernelParameters are kernel parameters of all ramdisks whose image is built; "" stands for
	// "nofb vga=normal" ([redfish]kernel_append_params), and in series before 2023.2 for "nofb nomodeset vga=normal".
	KernelParameters string
	// MediaTimeout bounds how long a BMC may take to insert an image; 0 stands for a minute.
	MediaTimeout time.Duration
	// DefaultDeploy is the deploy interface of nodes that have chosen none (default_deploy_interface); "direct", as in
	// Ironic, if empty.
	DefaultDeploy string
	// ImageDownloadSource says who downloads the images of instances of nodes that do not say it: with "http" the agent,
	// with "local" this process, which needs Images; "http" if empty ([agent]image_download_source).
	ImageDownloadSource string
}

// BootFiles has the URLs of the files from which machines of one architecture boot the agent. Kernel and Ramdisk are
// given together or not at all. An empty URL stands for the URL in the [Config].
type BootFiles struct{ Kernel, Ramdisk, Bootloader string }

const defaultSessions = 1000

func (c Config) withDefaults() (Config, error) {
	invalid := func(field string, value any, want string) error {
		return &conductor.ConfigError{Package: "hardware", Field: field, Value: value, Want: want}
	}
	for field, value := range sorted.All(map[string]time.Duration{"Timeout": c.Timeout, "Pause": c.Pause, "MediaTimeout": c.MediaTimeout}) {
		if value < 0 {
			return c, invalid(field, value, "0 or more")
		}
	}
	c.MediaTimeout = cmp.Or(c.MediaTimeout, time.Minute)
	if c.KernelParameters == "" {
		c.KernelParameters = "nofb vga=normal"
		if c.Series != states.NoSeries && c.Series < states.Bobcat {
			c.KernelParameters = "nofb nomodeset vga=normal"
		}
	}
	if _, err := bootimage.ParseParameters(c.KernelParameters); err != nil {
		return c, &conductor.ConfigError{Package: "hardware", Field: "KernelParameters", Err: err}
	}
	for architecture, files := range sorted.All(c.ByArchitecture) {
		if (files.Kernel == "") != (files.Ramdisk == "") {
			return c, invalid("ByArchitecture", architecture, "both a kernel and a ramdisk, or neither")
		}
	}
	if at, err := url.Parse(c.APIURL); c.APIURL != "" && (err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https") {
		return c, invalid("APIURL", c.APIURL, "a URL such as http://192.0.2.1:6385")
	}
	if !slices.Contains([]string{"", "http", "local"}, c.ImageDownloadSource) {
		return c, invalid("ImageDownloadSource", c.ImageDownloadSource, `"http" or "local"`)
	}
	if c.Client == nil {
		var err error
		if c.Client, err = images.NewClient(); err != nil {
			return c, err
		}
	}
	c.Sessions = max(cmp.Or(c.Sessions, defaultSessions), 0)
	return c, nil
}

// Type is a hardware type that is composed of interfaces: a [conductor.Hardware] that implements the optional
// interfaces of package conductor, too, where the interfaces that a node has chosen have the function. Make it with
// [New], [NewRedfish], [NewIPMI] or [NewBMCLib], and Close it. It is safe for concurrent use. A nil or zero Type has
// no interfaces and no steps, and its other methods return a [*conductor.ConfigError]. A nil node is an error.
//
// An error about a node's record is a [*conductor.Error] that matches [conductor.Invalid] or
// [conductor.Unsupported]. An error of a BMC wraps a [*verify.Error]. No error contains a
// password.
type Type struct {
	interfaces Interfaces
	config     *Config
}

var (
	_ conductor.Hardware           = (*Type)(nil)
	_ conductor.AgentBooter        = (*Type)(nil)
	_ conductor.ConfigDriveBuilder = (*Type)(nil)
	_ conductor.FilePublisher      = (*Type)(nil)
	_ conductor.ImageServer        = (*Type)(nil)
	_ conductor.BootDeviceManager  = (*Type)(nil)
	_ conductor.CacheReader        = (*Type)(nil)
	_ conductor.HealthReader       = (*Type)(nil)
	_ conductor.InBandStepper      = (*Type)(nil)
	_ conductor.Management         = (*Type)(nil)
	_ conductor.PortNeeder         = (*Type)(nil)
	_ conductor.PowerLimiter       = (*Type)(nil)
	_ conductor.VendorPassthru     = (*Type)(nil)
)

// New returns a hardware type of these interfaces. The error is a [*conductor.ConfigError].
func New(c Config, i Interfaces) (*Type, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	i = i.withDefaults()
	if err := i.check(); err != nil {
		return nil, err
	}
	if c.DefaultDeploy != "" {
		first := slices.IndexFunc(i.Deploy, func(d Deploy) bool { return d.Name() == c.DefaultDeploy })
		if first < 0 {
			return nil, &conductor.ConfigError{
				Package: "hardware", Field: "DefaultDeploy", Value: c.DefaultDeploy, Want: fmt.Sprintf("one of %q", i.names()["deploy"]),
			}
		}
		i.Deploy = slices.Insert(slices.Delete(slices.Clone(i.Deploy), first, first+1), 0, i.Deploy[first])
	}
	return &Type{interfaces: i, config: &c}, nil
}

// Close closes the interfaces that have a method Close. By Redfish it logs out of all open sessions: calls in flight
// log out when they are done, and later calls keep no session open. If the context ends first, Close returns its error.
func (b *Type) Close(ctx context.Context) error {
	if err := b.made(); err != nil {
		return err
	}
	var errs []error
	for _, kind := range b.interfaces.kinds(new(Chosen)) {
		for _, each := range kind.list() {
			if c, ok := each.(interface{ Close(context.Context) error }); ok {
				if err := c.Close(ctx); err != nil && !errors.Is(errors.Join(errs...), err) { // several may close the same
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// made returns an error for a nil or zero Type.
func (b *Type) made() error {
	if b == nil || b.config == nil {
		return &conductor.ConfigError{Package: "hardware", Field: "Type", Want: "one that New, NewRedfish, NewIPMI or NewBMCLib made"}
	}
	return nil
}

// node returns a node with the interfaces that it has chosen. It returns an error for a nil node, for a nil or zero
// Type, and for an interface that the Type does not have.
func (b *Type) node(n *conductor.Node) (Node, error) {
	if n == nil {
		return Node{}, &conductor.Error{Reason: conductor.Invalid, Text: "there is no node: it is nil"}
	}
	if err := b.made(); err != nil {
		return Node{}, err
	}
	chosen, err := b.interfaces.choose(n, b.config)
	return Node{n, chosen}, err
}

// Describe implements [conductor.Hardware].
func (b *Type) Describe() conductor.Description {
	if b.made() != nil {
		return conductor.Description{}
	}
	properties := map[string]string{}
	for _, kind := range b.interfaces.kinds(new(Chosen)) {
		for _, each := range kind.list() {
			maps.Copy(properties, each.Properties())
		}
	}
	return conductor.Description{Interfaces: b.interfaces.names(), Properties: properties}
}

// Validate implements [conductor.Hardware].
func (b *Type) Validate(n *conductor.Node) map[string]error {
	node, err := b.node(n)
	if err != nil {
		return map[string]error{"power": err}
	}
	result := map[string]error{"console": validateConsole(node), "network": nil, "storage": nil}
	for _, kind := range b.interfaces.kinds(&node.Chosen) {
		if kind.Name() != "vendor" { // as in Ironic
			result[kind.Name()] = kind.chosen().Validate(node)
		}
	}
	return result
}

// Verify implements [conductor.Hardware]. By Redfish and by IPMI it logs in and reads the power state. With
// Config.CheckManagement it also checks the management interface on the BMC, as the enroll
// specification demands; Ironic's code does not, and neither does the default. It costs one
// log-in.
func (b *Type) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	node, err := b.node(n)
	if err != nil {
		return states.NoPower, err
	}
	if v, ok := node.Chosen.Power.(Verifier); ok {
		return v.Verify(ctx, n)
	}
	return node.Chosen.Power.PowerState(ctx, n)
}

// PowerState implements [conductor.Hardware].
func (b *Type) PowerState(ctx context.Context, n *conductor.Node) (states.Power, error) {
	node, err := b.node(n)
	if err != nil {
		return states.NoPower, err
	}
	return node.Chosen.Power.PowerState(ctx, n)
}

// SupportsPower implements [conductor.PowerLimiter].
func (b *Type) SupportsPower(n *conductor.Node, power states.Power) bool {
	node, err := b.node(n)
	if err != nil {
		return false
	}
	by, ok := node.Chosen.Power.(conductor.PowerLimiter)
	return !ok || by.SupportsPower(n, power)
}

// SetPower implements [conductor.Hardware].
func (b *Type) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	node, err := b.node(n)
	if err != nil {
		return err
	}
	if m, ok := node.Chosen.Management.(BootDeviceRestorer); ok && power.Target() == states.PowerOn {
		m.RestoreBootDevice(ctx, n)
	}
	return node.Chosen.Power.SetPower(ctx, n, power)
}

// Steps implements [conductor.Hardware]. The package comment describes the steps.
func (b *Type) Steps(n *conductor.Node, work states.Work) (steps []conductor.Step) {
	node, err := b.node(n)
	if err != nil {
		return nil
	}
	for _, kind := range b.interfaces.kinds(&node.Chosen) {
		stepper, ok := kind.chosen().(Stepper)
		if !ok {
			continue
		}
		for _, step := range stepper.Steps(node, work) {
			step.Interface = kind.Name()
			steps = append(steps, step)
		}
	}
	return steps
}
