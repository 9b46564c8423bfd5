// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/ironstate/ironstate/machine"
)

// Config configures a [Machine]. API is required.
type Config struct {
	// API is the URL of Ironic's API that the ramdisk contains. The boot parameter ipa-api-url replaces it.
	API string
	// Roots are the authorities that the agent trusts for Ironic's API and for images; nil stands for the
	// authorities of the operating system.
	Roots *x509.CertPool

	// MACs are the addresses of the network interfaces; one address if empty. The first interface has a link.
	MACs []string
	// Host is the IP address at which the agent serves its own API; "127.0.0.1" if empty.
	Host string
	// Disk is the file that is the machine's disk. If empty, the machine makes a file, which Close removes.
	Disk string
	// DiskSize is the size in bytes of a disk that does not exist yet; 256 MiB if 0. The file is sparse.
	DiskSize int64
	// BMCAddress is the address of the BMC in inspection data.
	BMCAddress string

	// Boots selects what a boot from a source starts: the agent with kernel parameters such as
	// "ipa-agent-token=TOKEN", or something else. The source and the image are the arguments of [Machine.Power]. If Boots
	// is nil, the agent starts from "Pxe" and "UefiHttp", and from "Cd" and "Usb" with an image. The context ends with the
	// next reset or power off.
	Boots func(ctx context.Context, source, image string) (parameters string, agent bool)
	// PowerOff powers the machine off at its BMC, for the agent's command power_off. It may call [Machine.Power]. If
	// PowerOff is nil, only the machine itself is then off.
	PowerOff func()

	// Inspection makes the agent send inspection data to API at each boot before it looks its node up, as a ramdisk with
	// the parameter ipa-inspection-callback-url does. That parameter replaces the URL.
	Inspection bool
	// Collect changes the inspection data before they are sent; nil changes nothing.
	Collect func(data map[string]any)

	// Heartbeat is the time between two heartbeats, and between two attempts of a lookup; 50 ms if 0. The end of an
	// asynchronous command causes a heartbeat at once.
	Heartbeat time.Duration
	// Version is the version that the agent reports; "9.4.3" if empty.
	Version string
	// PlainHTTP makes the agent serve its API without TLS, as it does for an Ironic older than API 1.68.
	PlainHTTP bool
	// KeepCommands is the number of commands that [Machine.Commands] returns at most, the last ones; all if 0.
	KeepCommands int
	// ReadsNeedToken makes requests that read commands need the token, as with newer agents than 9.4.3.
	ReadsNeedToken bool

	Steps  []Step  // steps beside the built-in ones; a step with the name of a built-in one replaces it
	Faults []Fault // set from the start, as by [Machine.AddFault]
}

// Step is a step of an additional hardware manager.
type Step struct {
	Work      string // "clean", "deploy" or "service"
	Interface string // such as "deploy"
	Name      string
	Priority  int
	Reboot    bool           // the conductor reboots the machine after the step
	Abortable bool           // clean and service steps
	ArgsInfo  map[string]any // description of the arguments; may be nil

	// Run executes the step. The context ends when the agent does. The result must be one that encoding/json encodes.
	Run func(ctx context.Context, args map[string]any) (result any, err error)
}

func (c Config) withDefaults() (Config, error) {
	c.MACs = slices.Clone(c.MACs)
	if len(c.MACs) == 0 {
		c.MACs = []string{"52:54:00:00:00:01"}
	}
	c.Host = cmp.Or(c.Host, "127.0.0.1")
	c.DiskSize = cmp.Or(c.DiskSize, 256<<20)
	c.Heartbeat = cmp.Or(c.Heartbeat, 50*time.Millisecond)
	c.Version = cmp.Or(c.Version, "9.4.3")
	if c.Boots == nil {
		c.Boots = bootsAgent
	}
	return c, c.check()
}

func (c Config) check() error {
	var errs []error
	invalid := func(field string, value any, want string) {
		errs = append(errs, &machine.ConfigError{Package: "agenttest", Field: field, Value: value, Want: want})
	}
	if c.API == "" {
		invalid("API", c.API, "the URL of Ironic's API")
	}
	if c.DiskSize < minDisk {
		invalid("DiskSize", c.DiskSize, fmt.Sprintf("%d or more", minDisk))
	}
	if _, err := netip.ParseAddr(c.Host); err != nil {
		invalid("Host", c.Host, "an IP address")
	}
	if c.KeepCommands < 0 {
		invalid("KeepCommands", c.KeepCommands, "0 or more")
	}
	if c.Heartbeat < 0 {
		invalid("Heartbeat", c.Heartbeat, "0 or more")
	}
	for _, mac := range c.MACs {
		if _, err := net.ParseMAC(mac); err != nil {
			invalid("MACs", mac, "MAC addresses")
		}
	}
	for _, s := range c.Steps {
		if !slices.Contains(works, s.Work) || s.Interface == "" || s.Name == "" || s.Run == nil {
			invalid("Steps", s.Name, fmt.Sprintf("steps with a work of %q, an interface, a name and a function", works))
		}
	}
	return errors.Join(errs...)
}

func bootsAgent(_ context.Context, source, image string) (string, bool) {
	switch source {
	case "Pxe", "UefiHttp":
		return "", true
	case "Cd", "Usb":
		return "", image != ""
	}
	return "", false
}
