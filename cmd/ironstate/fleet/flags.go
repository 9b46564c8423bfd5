// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
)

// options are the parsed flags.
type options struct {
	machines  int
	name      string // the names of the machines begin with it
	host      string // an IP address
	basePort  int    // of the page; the BMCs have the next ones. 0 chooses free ones
	profiles  []bmctest.Profile
	folder    string // "" for a temporary one
	diskSize  int64  // bytes
	api       string // URL; "" if boot images have it
	caFile    string // of the authorities that agents trust; "" for the operating system's
	heartbeat time.Duration

	user, passwordFile string
	verifyCA           string // redfish_verify_ca in the nodes; "" for the path of the fleet's authority

	rates map[string]float64 // of the faults, by name
	seed  uint64
}

const (
	maxMachines = 10_000
	maxPort     = 65535
)

var validName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)

// parse returns the options, or a usage error.
func parse(args []string, errOut io.Writer) (*options, error) {
	o := &options{rates: map[string]float64{}}
	flags := flag.NewFlagSet("ironstate fleet", flag.ContinueOnError)
	flags.IntVar(&o.machines, "machines", 3, "`number` of machines, at most 10000")
	flags.StringVar(&o.name, "name", "fleet", "`prefix` of the machines' names, such as fleet-0001; "+
		"two fleets of one Ironic need two, since it also makes the MAC addresses")
	flags.StringVar(&o.host, "listen-host", "127.0.0.1",
		"IP `address` of this host at which the BMCs, the agents and the page listen; Ironic must reach it")
	flags.IntVar(&o.basePort, "base-port", 0,
		"`port` of the page; the BMCs have the ports after it. 0 chooses free ports, which another start changes")
	var families []string
	flags.Func("profile", "`family` of the BMCs: "+strings.Join(familyNames(), ", ")+" or all; "+
		"may be repeated; the families are given out in turn; "+
		"without this flag all but those whose virtual media tell no MediaTypes, on which Ironic 39.0.0 finds no slot for a CD",
		func(name string) error { families = append(families, name); return nil })
	flags.StringVar(&o.folder, "folder", "", "`folder` of the disks, the certificate authority, the password and the files "+
		"with the machines; empty makes one that the end removes")
	size := flags.String("disk-size", "10G", "`size` of each disk in bytes, with K, M, G or T for the powers of 1024; "+
		"the files take the room of what is written")
	flags.StringVar(&o.api, "api", "", "`URL` of Ironic's API for the agents, such as http://127.0.0.1:6385. "+
		"The nodes then have a deploy_iso, and Ironic needs no kernel and ramdisk. "+
		"Empty takes it from the images that Ironic builds for virtual media; the machines then boot no agent from the network")
	flags.StringVar(&o.caFile, "api-ca", "", "`file` of the authorities, in PEM, that the agents trust for the API and for images; "+
		"empty stands for the operating system's authorities")
	flags.DurationVar(&o.heartbeat, "heartbeat", 5*time.Second,
		"`time` between two heartbeats of an agent, and between two attempts of a lookup")
	flags.StringVar(&o.user, "user", "admin", "`name` of the BMCs' user")
	flags.StringVar(&o.passwordFile, "password-file", "", "`file` with the BMCs' password; "+
		"without it the variable "+passwordVariable+" has it, or else the file password in the folder, which is made")
	flags.StringVar(&o.verifyCA, "verify-ca", "", "redfish_verify_ca of the nodes: false, or the `path` of the fleet's ca.pem "+
		"where Ironic runs; empty stands for its path here")
	flags.Func("faults", "`NAME=RATE` such as power-refused=0.1: the fault is played on that part of its occasions; "+
		"may be repeated, and have several with commas: "+faultsText(), o.setRates)
	flags.Uint64Var(&o.seed, "seed", 1,
		"`number` from which the occasions of faults follow: the same one gives each machine the same faults again")
	if err := program.Parse(flags, args, errOut); err != nil {
		return nil, err
	}
	if err := o.setSize(*size); err != nil {
		return nil, err
	}
	if err := o.setFamilies(families); err != nil {
		return nil, err
	}
	return o, o.check()
}

func (o *options) check() error {
	if err := program.Between("machines", o.machines, 1, maxMachines); err != nil {
		return err
	}
	if o.basePort != 0 {
		if err := program.Between("base-port", o.basePort, 1, maxPort-o.machines); err != nil {
			return err
		}
	}
	host, err := netip.ParseAddr(o.host)
	api, badURL := url.Parse(o.api)
	switch {
	case err != nil || host.IsUnspecified() || host.Zone() != "":
		return program.Usagef("-listen-host is %q: want an IP address that Ironic reaches, such as 10.0.0.1", o.host)
	case !validName.MatchString(o.name):
		return program.Usagef("-name is %q: want up to 40 small letters, digits and hyphens, with a letter first", o.name)
	case o.api != "" && (badURL != nil || api.Host == "" || api.Scheme != "http" && api.Scheme != "https"):
		return program.Usagef("-api is %q: want a URL, such as http://127.0.0.1:6385", o.api)
	case o.heartbeat <= 0:
		return program.Usagef("-heartbeat is %v: want more than 0", o.heartbeat)
	case o.user == "" || strings.Contains(o.user, ":"):
		return program.Usagef("-user is %q: want a name without a colon", o.user)
	}
	return nil
}

// setSize parses the value of -disk-size.
func (o *options) setSize(text string) error {
	digits, shift := text, 0
	if n := len(text); n > 0 {
		if unit := strings.IndexByte("KMGT", text[n-1]); unit >= 0 {
			digits, shift = text[:n-1], 10*(unit+1)
		}
	}
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size <= 0 || size > math.MaxInt64>>shift || size<<shift < minDisk {
		return program.Usagef("-disk-size is %q: want a size of 80M or more, such as 10G", text)
	}
	o.diskSize = size << shift
	return nil
}

// minDisk is the size in bytes of the smallest disk that agenttest takes.
const minDisk = 80 << 20

// plain is the family without quirks.
const plain = "plain"

// families are the profiles of all families.
func families() []bmctest.Profile {
	return append([]bmctest.Profile{{Name: plain}}, bmctest.Profiles()...)
}

// installable reports whether Ironic boots the machines of a family from virtual media: it uses a slot by its
// MediaTypes alone.
//
// Source: _insert_vmedia_in_resource in ironic/drivers/modules/redfish/boot.py.
func installable(p bmctest.Profile) bool { return !slices.Contains(p.Without, "MediaTypes") }

func familyNames() (names []string) {
	for _, p := range families() {
		names = append(names, p.Name)
	}
	return names
}

// setFamilies sets the profiles from the values of -profile.
func (o *options) setFamilies(names []string) error {
	if len(names) == 0 || slices.Contains(names, "all") {
		o.profiles = slices.DeleteFunc(families(), func(p bmctest.Profile) bool { return len(names) == 0 && !installable(p) })
		return nil
	}
	for _, name := range names {
		i := slices.Index(familyNames(), name)
		if i < 0 {
			return program.Usagef("-profile is %q: want one of %s, or all", name, strings.Join(familyNames(), ", "))
		}
		o.profiles = append(o.profiles, families()[i])
	}
	return nil
}

// setRates parses a value of -faults.
func (o *options) setRates(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		name, text, _ := strings.Cut(one, "=")
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return fmt.Errorf("want NAME=RATE with a rate from 0 to 1, not %q", one)
		}
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == name }) {
			return fmt.Errorf("there is no fault %q", name)
		}
		o.rates[name] = rate
	}
	return nil
}
