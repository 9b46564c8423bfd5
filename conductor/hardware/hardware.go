// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// Config configures a hardware type. The zero value is ready for use.
type Config struct {
	// CheckManagement makes a verification also read the boot device, as the specification
	// of the state enroll requires. Ironic's code does not read it.
	CheckManagement bool
	// Timeout bounds a call of a BMC; 0 stands for 30 s.
	Timeout time.Duration
	// Sessions bounds the Redfish sessions of all nodes that stay open between calls; 0
	// stands for 1000 ([redfish]connection_cache_size), and a negative number keeps none
	// open.
	Sessions int
	// Images serves what machines boot from kernels and ramdisks in driver_info or instance_info: images for virtual
	// media, and scripts and files for ipxe. Nil refuses them for virtual media, and makes ipxe the same as pxe; a BMC
	// loads an image with a URL of its own by itself.
	Images *images.Server
	// APIURL is the address at which agents reach Ironic's API (external_callback_url), such as
	// http://192.0.2.1:6385. It is needed with deploy_kernel and deploy_ramdisk.
	APIURL string
	// DeployKernel and DeployRamdisk are the URLs of the agent's kernel and ramdisk for nodes whose
	// driver_info lacks one of them, and Bootloader is that of the boot loader for nodes whose
	// driver_info has none (deploy_kernel, deploy_ramdisk, bootloader).
	DeployKernel, DeployRamdisk, Bootloader string
	// KernelParameters are kernel parameters of all ramdisks whose image is built; "" stands for
	// "nofb nomodeset vga=normal" ([redfish]kernel_append_params).
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

const defaultSessions = 1000

func (c Config) withDefaults() (Config, error) {
	for field, value := range map[string]time.Duration{"Timeout": c.Timeout, "MediaTimeout": c.MediaTimeout} {
		if value < 0 {
			return c, &conductor.ConfigError{Package: "hardware", Field: field, Value: value, Want: "0 or more"}
		}
	}
	if c.MediaTimeout == 0 {
		c.MediaTimeout = time.Minute
	}
	if c.KernelParameters == "" {
		c.KernelParameters = "nofb nomodeset vga=normal"
	}
	if _, err := bootimage.ParseParameters(c.KernelParameters); err != nil {
		return c, &conductor.ConfigError{Package: "hardware", Field: "KernelParameters", Err: err}
	}
	if !slices.Contains([]string{"", "http", "local"}, c.ImageDownloadSource) {
		return c, &conductor.ConfigError{Package: "hardware", Field: "ImageDownloadSource", Value: c.ImageDownloadSource, Want: `"http" or "local"`}
	}
	switch {
	case c.Sessions == 0:
		c.Sessions = defaultSessions
	case c.Sessions < 0:
		c.Sessions = 0
	}
	return c, nil
}

// kind holds the differences between the hardware types.
type kind struct {
	interfaces  map[string][]string
	properties  map[string]string
	bootDevices []string
	// parse returns the configuration of a node's BMC from its driver_info.
	parse func(info) (bmc.Config, error)
}

// Type is a hardware type whose nodes have BMCs: a [conductor.Hardware], a [conductor.BootDeviceManager], a
// [conductor.CacheReader], a [conductor.HealthReader], a [conductor.Management] and a [conductor.VendorPassthru]. Make
// it with [NewRedfish] or [NewIPMI], and Close it. It is safe for concurrent use. A nil or zero Type has no interfaces
// and no steps, and its other methods return a [*conductor.ConfigError]. A nil node is an error.
//
// An error about a node's record is a [*conductor.Error] that matches [conductor.Invalid] or
// [conductor.Unsupported]. An error of a BMC wraps a [*verify.Error]. No error contains a
// password.
type Type struct {
	kind
	config Config
	driver *bmc.Driver
	calls  calls
}

var (
	_ conductor.Hardware           = (*Type)(nil)
	_ conductor.AgentBooter        = (*Type)(nil)
	_ conductor.ConfigDriveBuilder = (*Type)(nil)
	_ conductor.ImageServer        = (*Type)(nil)
	_ conductor.BootDeviceManager  = (*Type)(nil)
	_ conductor.CacheReader        = (*Type)(nil)
	_ conductor.HealthReader       = (*Type)(nil)
	_ conductor.Management         = (*Type)(nil)
	_ conductor.VendorPassthru     = (*Type)(nil)
)

// calls are the calls in flight, by the node's UUID.
type calls struct {
	mu   sync.Mutex
	byID map[string]*call
}

// call counts the calls in flight of one node.
type call struct {
	config bmc.Config // that of the latest call
	count  int
}

// NewRedfish returns the hardware type "redfish". The error is a
// [*conductor.ConfigError].
func NewRedfish(c Config) (*Type, error) { return newType(redfish, c) }

// NewIPMI returns the hardware type "ipmi", which needs the program ipmitool. The error
// is a [*conductor.ConfigError].
func NewIPMI(c Config) (*Type, error) { return newType(ipmi, c) }

func newType(k kind, c Config) (*Type, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	deploy := slices.Clone(k.interfaces["deploy"])
	if i := slices.Index(deploy, c.DefaultDeploy); i >= 0 {
		deploy = slices.Insert(slices.Delete(deploy, i, i+1), 0, c.DefaultDeploy)
	} else if c.DefaultDeploy != "" {
		return nil, &conductor.ConfigError{Package: "hardware", Field: "DefaultDeploy", Value: c.DefaultDeploy, Want: fmt.Sprintf("one of %q", deploy)}
	}
	k.interfaces = maps.Clone(k.interfaces)
	k.interfaces["deploy"] = deploy
	b := &Type{kind: k, config: c, calls: calls{byID: map[string]*call{}}}
	b.driver, err = bmc.NewDriver(bmc.DriverConfig{Lookup: b.calls.lookup, Sessions: c.Sessions})
	return b, err
}

// Close logs out of all open sessions. Calls in flight log out when they are done, and later
// calls keep no session open. If the context ends first, Close returns its error.
func (b *Type) Close(ctx context.Context) error {
	if err := b.made(); err != nil {
		return err
	}
	return b.driver.Close(ctx)
}

// made returns an error for a nil or zero Type.
func (b *Type) made() error {
	if b == nil || b.driver == nil {
		return &conductor.ConfigError{Package: "hardware", Field: "Type", Want: "one that NewRedfish or NewIPMI made"}
	}
	return nil
}

// usable returns an error for a nil node, and for a nil or zero Type.
func (b *Type) usable(n *conductor.Node) error {
	if n == nil {
		return &conductor.Error{Reason: conductor.Invalid, Text: "there is no node: it is nil"}
	}
	return b.made()
}

// Describe implements [conductor.Hardware].
func (b *Type) Describe() conductor.Description {
	if b.made() != nil {
		return conductor.Description{}
	}
	properties := maps.Clone(b.properties)
	maps.Copy(properties, agentTexts)
	return conductor.Description{Interfaces: maps.Clone(b.interfaces), Properties: properties}
}

// Verify implements [conductor.Hardware]: it logs in and reads the power state. With
// Config.CheckManagement it also checks the management interface on the BMC, as the enroll
// specification demands; Ironic's code does not, and neither does the default. It costs one
// log-in.
func (b *Type) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	v, _, err := b.verifier(n)
	if err != nil {
		return states.NoPower, err
	}
	return v.Verify(ctx)
}

// PowerState implements [conductor.Hardware].
func (b *Type) PowerState(ctx context.Context, n *conductor.Node) (power states.Power, err error) {
	err = b.do(n, func() (err error) {
		power, err = b.driver.PowerState(ctx, n.UUID)
		return err
	})
	return power, err
}

// SetPower implements [conductor.Hardware]. It does not support soft rebooting.
func (b *Type) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return b.do(n, func() error { return b.driver.SetPower(ctx, n.UUID, power) })
}

// verifier returns the verifier and the configuration of a node's BMC.
func (b *Type) verifier(n *conductor.Node) (verify.Verifier, bmc.Config, error) {
	if err := b.usable(n); err != nil {
		return nil, bmc.Config{}, err
	}
	c, err := b.parse(info{n})
	if err != nil {
		return nil, c, err
	}
	c.Timeout = b.config.Timeout
	c.SkipManagement = !b.config.CheckManagement
	c.BootMode = n.WantedBootMode()
	v, err := bmc.New(c)
	if err != nil {
		return nil, c, &conductor.Error{Reason: conductor.Invalid, Err: err,
			Text: fmt.Sprintf("The driver_info of node %s cannot be used: %v", n.UUID, err)}
	}
	return v, c, nil
}

// do calls f, which calls the driver for a node. During the call b.calls has the configuration of
// the node's BMC.
func (b *Type) do(n *conductor.Node, f func() error) error {
	_, c, err := b.verifier(n)
	if err != nil {
		return err
	}
	b.calls.begin(n.UUID, c)
	defer b.calls.end(n.UUID)
	return f()
}

func (c *calls) begin(id string, config bmc.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] == nil {
		c.byID[id] = &call{}
	}
	c.byID[id].config = config
	c.byID[id].count++
}

func (c *calls) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id].count--; c.byID[id].count == 0 {
		delete(c.byID, id)
	}
}

// lookup returns the configuration of a node's BMC to the driver.
func (c *calls) lookup(_ context.Context, id string) (bmc.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.byID[id]
	if !ok {
		return bmc.Config{}, fmt.Errorf("no call for node %s is in flight", id)
	}
	return found.config, nil
}
