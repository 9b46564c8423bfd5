// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/machine"
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
	// whose driver_info has no path in redfish_verify_ca; if empty, the operating system's ([redfish]verify_ca). It is
	// read once.
	VerifyCA string
	// Pause is the time until a Redfish request is sent again that has failed for the moment; 0 stands for 3 s.
	Pause time.Duration
	// Log is told of each request to a BMC that fails for the moment and that is repeated, of each image that a BMC does
	// not eject, and of each boot device that cannot be set again before a start; nil stands for none.
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
	// http://192.0.2.1:6385, without a user and a password. It is needed with deploy_kernel and deploy_ramdisk.
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

// withDefaults returns the Config with its defaults filled in, or an error if it is invalid.
func (c Config) withDefaults() (Config, error) {
	invalid := func(field string, value any, want string) error {
		return &machine.ConfigError{Package: "hardware", Field: field, Value: value, Want: want}
	}
	for field, value := range sorted.All(map[string]time.Duration{"Timeout": c.Timeout, "Pause": c.Pause, "MediaTimeout": c.MediaTimeout}) {
		if value < 0 {
			return c, invalid(field, value, "0 or more")
		}
	}
	c.MediaTimeout = cmp.Or(c.MediaTimeout, time.Minute)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.KernelParameters == "" {
		c.KernelParameters = "nofb vga=normal"
		if c.Series != states.NoSeries && c.Series < states.Bobcat {
			c.KernelParameters = "nofb nomodeset vga=normal"
		}
	}
	if _, err := bootimage.ParseParameters(c.KernelParameters); err != nil {
		return c, &machine.ConfigError{Package: "hardware", Field: "KernelParameters", Err: err}
	}
	for architecture, files := range sorted.All(c.ByArchitecture) {
		if (files.Kernel == "") != (files.Ramdisk == "") {
			return c, invalid("ByArchitecture", architecture, "both a kernel and a ramdisk, or neither")
		}
	}
	switch at, err := url.Parse(c.APIURL); {
	case c.APIURL == "":
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return c, invalid("APIURL", masked.Text(c.APIURL), "a URL such as http://192.0.2.1:6385")
	case at.User != nil:
		shown := errors.New("it has a user or a password, which the images and scripts of agents would show")
		return c, &machine.ConfigError{Package: "hardware", Field: "APIURL", Err: shown}
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

// Check returns the error with which [NewRedfish] and [NewIPMI] refuse the Config: a [*machine.ConfigError]. A
// program can report its user's mistakes by it before it makes the hardware types.
func (c Config) Check() error {
	c, err := c.withDefaults()
	if err == nil {
		_, err = c.authorities()
	}
	if err == nil {
		_, err = c.orderDeploy(Interfaces{}.withDefaults().Deploy)
	}
	return err
}

// authorities reads VerifyCA. It returns nil for the authorities of the operating system.
func (c Config) authorities() (*x509.CertPool, error) {
	if c.VerifyCA == "" {
		return nil, nil
	}
	at, err := os.Stat(c.VerifyCA)
	if err == nil {
		var pool *x509.CertPool
		if pool, err = readAuthorities(c.VerifyCA, at); err == nil {
			return pool, nil
		}
	}
	return nil, &machine.ConfigError{Package: "hardware", Field: "VerifyCA", Err: err}
}

// orderDeploy returns the deploy interfaces with DefaultDeploy, which must be one of them, as the first.
func (c Config) orderDeploy(all []Deploy) ([]Deploy, error) {
	if c.DefaultDeploy == "" {
		return all, nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Name()
	}
	first := slices.Index(names, c.DefaultDeploy)
	if first < 0 {
		return nil, &machine.ConfigError{
			Package: "hardware", Field: "DefaultDeploy", Value: c.DefaultDeploy, Want: fmt.Sprintf("one of %q", names),
		}
	}
	return slices.Insert(slices.Delete(slices.Clone(all), first, first+1), 0, all[first]), nil
}
