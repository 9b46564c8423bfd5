// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// options are the parsed flags.
type options struct {
	listen          string
	data            string
	cluster         clusterFlags
	backups         backupFlags // if one is set, no service is started
	images          imageFlags
	series          states.Series
	name, group     string
	defaultGroup    string // of new nodes
	groupLimits     bool   // see conductor.Config.LimitsByGroup
	fleetName       string
	cleaning        cleaningFlags
	resumeVerify    bool
	bmcs            bmcFlags
	checkInterval   time.Duration
	expected        conductor.ExpectedTimes
	agents          agentFlags
	powerSync       powerSyncFlags
	fakeDelay       time.Duration
	fakeRestart     bool
	demo            int
	users           users // nil for no authentication
	tlsCert, tlsKey string
	tlsLowest       uint16 // version
	insecure        bool
	shutdownTimeout time.Duration
	otlp            string // the URL of the trace collector
	logLevel        slog.Level
}

// maxDemo bounds the number of built-in BMCs.
const maxDemo = 100

// parse returns the options, or a usage error.
func parse(args []string, errOut io.Writer) (*options, error) {
	o := &options{series: states.Latest(), logLevel: slog.LevelInfo}
	flags := flag.NewFlagSet("ironstate", flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "`host:port` to listen on; port 0 chooses a free one")
	flags.StringVar(&o.data, "data", "", "`folder` in which the nodes are stored; empty stores them in memory")
	o.cluster.define(flags)
	o.backups.define(flags)
	o.images.define(flags)
	flags.TextVar(&o.series, "series", o.series, "OpenStack `series` whose rules and API versions apply, such as 2023.1")
	flags.StringVar(&o.name, "name", "", "the conductor's `name`, the same after a restart; empty stands for the host name")
	flags.StringVar(&o.group, "group", "", "conductor `group`: the conductor manages the nodes of this group")
	flags.BoolVar(&o.groupLimits, "limits-by-group", false,
		"count only the nodes of a node's conductor group for the limits of 250 deployments and 50 cleanings, since 2026.1")
	flags.StringVar(&o.defaultGroup, "default-group", "", "conductor `group` of new nodes that name none, since 2024.1")
	flags.StringVar(&o.fleetName, "fleet-name", "",
		"`name` of all nodes together, the title of the live page; empty stands for \"Nodes of\" and the conductor's name")
	o.cleaning.define(flags)
	flags.BoolVar(&o.resumeVerify, "resume-verification", false, "restart a verification whose conductor has died, instead of failing it")
	o.bmcs.define(flags)
	flags.DurationVar(&o.checkInterval, "check-interval", time.Minute,
		"`time` between two checks of all nodes for timeouts and for work that no conductor has started")
	var expected []string
	flags.Func("expected-time", "`STATE=DURATION` such as 'clean wait=24h': a node that is in this working or waiting state "+
		"for longer is overdue, which the metrics and the live page show; may be repeated; "+
		"the default of a state is the timeout of its work, 0 is none",
		func(value string) error { expected = append(expected, value); return nil })
	o.agents.define(flags)
	o.powerSync.define(flags)
	flags.DurationVar(&o.fakeDelay, "fake-delay", 0, "maximum `time` of an operation on fake-hardware; each takes a random part of it")
	flags.BoolVar(&o.fakeRestart, "fake-restart", false, "end each step of fake-hardware with a restart of the machine")
	flags.IntVar(&o.demo, "demo", 3, "`number` of built-in Redfish BMCs that are enrolled as an example; "+
		"0 for none, as without this flag with -data, -etcd or -cluster")
	auth := flags.String("auth-file", "",
		"`file` of users with bcrypt hashes, as htpasswd -B writes it; clients then need HTTP Basic authentication")
	flags.StringVar(&o.tlsCert, "tls-cert", "", "`file` of the server's certificate and its chain, in PEM")
	flags.StringVar(&o.tlsKey, "tls-key", "", "`file` of the certificate's key, in PEM")
	o.tlsLowest = tls.VersionTLS12
	flags.Func("tls-minimum-version", "lowest `version` of TLS of clients and agents, 1.2 or 1.3; without it 1.2", o.setLowest)
	flags.BoolVar(&o.insecure, "insecure-listen-without-auth-and-tls", false,
		"listen beyond the loopback interface although everyone there can then send any request, or read passwords and the tokens of agents")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 5*time.Second, "`time` that work in flight may continue after SIGTERM")
	flags.StringVar(&o.otlp, "otlp", "", "`URL` of an OpenTelemetry collector that receives traces by OTLP over HTTP; "+
		"empty stands for OTEL_EXPORTER_OTLP_ENDPOINT; tracing is off without either")
	flags.TextVar(&o.logLevel, "log-level", o.logLevel,
		"`level` of the log on standard error: DEBUG, INFO, WARN or ERROR; etcd's warnings are DEBUG")
	if err := program.Parse(flags, args, errOut); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["demo"] && (o.data != "" || o.cluster.shared()) {
		o.demo = 0
	}
	if err := program.Between("demo", o.demo, 0, maxDemo); err != nil {
		return nil, err
	}
	if err := o.cluster.check(o.name, o.data); err != nil {
		return nil, err
	}
	if given["lease"] && !o.cluster.shared() {
		return nil, program.Usagef("-lease needs -etcd or -cluster: without them no other conductor takes nodes over")
	}
	if err := o.backups.check(o); err != nil {
		return nil, err
	}
	if err := o.images.check(); err != nil {
		return nil, err
	}
	if (o.tlsCert == "") != (o.tlsKey == "") {
		return nil, program.Usagef("-tls-cert and -tls-key need each other: one of them is missing")
	}
	if o.shutdownTimeout <= 0 {
		return nil, program.Usagef("-shutdown-timeout is %v: want more than 0", o.shutdownTimeout)
	}
	if o.checkInterval <= 0 {
		return nil, program.Usagef("-check-interval is %v: want more than 0", o.checkInterval)
	}
	if err := o.setExpected(expected); err != nil {
		return nil, err
	}
	if o.bmcs.timeout < 0 {
		return nil, program.Usagef("-bmc-timeout is %v: want 0 or more", o.bmcs.timeout)
	}
	if err := o.cleaning.check(o.series); err != nil {
		return nil, err
	}
	if o.defaultGroup != "" && o.series < states.Caracal {
		return nil, program.Usagef("-default-group is %q: %v has no default of new nodes", o.defaultGroup, o.series)
	}
	if o.agents.withoutMD5 && o.series < states.Bobcat {
		return nil, program.Usagef("-agent-without-md5 is given: %v permits its agents MD5", o.series)
	}
	if m := o.agents.bootModes; len(m.Enrollment)+len(m.Deployment) > 0 && o.series < states.Dalmatian {
		return nil, program.Usagef("-disallow-boot-mode is given: %v allows all boot modes", o.series)
	}
	for _, name := range o.agents.hooks {
		if known := conductor.InspectionHooks(o.series); !slices.Contains(known, name) {
			return nil, program.Usagef("-inspection-hooks has %q: want hooks that %v has besides its default ones: %s", name, o.series,
				cmp.Or(strings.Join(known, ", "), "none"))
		}
	}
	if o.groupLimits && o.series < states.Gazpacho {
		return nil, program.Usagef("-limits-by-group is given: %v counts the nodes of all conductor groups", o.series)
	}
	if err := o.powerSync.check(); err != nil {
		return nil, err
	}
	if o.fakeDelay < 0 {
		return nil, program.Usagef("-fake-delay is %v: want 0 or more", o.fakeDelay)
	}
	if *auth != "" {
		var err error
		if o.users, err = readUsers(*auth); err != nil {
			return nil, err
		}
	}
	return o, o.checkListen()
}

// setLowest parses the value of -tls-minimum-version.
func (o *options) setLowest(value string) (err error) {
	version, ok := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[value]
	if o.tlsLowest = version; !ok {
		err = errors.New("want 1.2 or 1.3")
	}
	return err
}

// checkListen refuses a non-loopback address without authentication and TLS, and for agents, which have no password,
// without TLS.
func (o *options) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return program.Usagef("-listen is %q: want host:port, such as 127.0.0.1:6385", o.listen)
	}
	if !o.insecure && !isLoopback(host) && (o.users == nil || o.tlsCert == "") {
		return program.Usagef("-listen is %q, which others can reach: give -auth-file, -tls-cert and -tls-key as well, "+
			"or -insecure-listen-without-auth-and-tls", o.listen)
	}
	if o.agents.listen == "" {
		return nil
	}
	host, _, err = net.SplitHostPort(o.agents.listen)
	switch {
	case err != nil:
		return program.Usagef("-agent-listen is %q: want host:port, such as 10.0.0.1:6385", o.agents.listen)
	case !o.insecure && !isLoopback(host) && o.tlsCert == "":
		return program.Usagef("-agent-listen is %q, and agents' tokens could be read on the way: give -tls-cert and -tls-key as well, "+
			"or -insecure-listen-without-auth-and-tls", o.agents.listen)
	}
	return nil
}

// setExpected parses the values of -expected-time.
func (o *options) setExpected(values []string) error {
	o.expected = conductor.ExpectedTimes{}
	for _, value := range values {
		word, text, _ := strings.Cut(value, "=")
		s, _ := states.Parse(word) // NoState if it is unknown, which is refused
		limit, err := time.ParseDuration(text)
		if err != nil {
			return program.Usagef("-expected-time is %q: want STATE=DURATION with a duration such as 90m or 24h", value)
		}
		if err := conductor.CheckExpectedTime(o.series.Table(), s, limit); err != nil {
			return program.Usagef("-expected-time is %q: %v", value, err)
		}
		o.expected[s] = limit
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// agentFlags are the flags of agents, and of the work on nodes that waits for them.
type agentFlags struct {
	timeouts   machine.Timeouts
	priorities map[string]int           // of the steps of automated cleaning
	disallowed map[states.Work][]string // see conductor.Config.DisallowedSteps; nil without the flag
	bootModes  admission.BootModes      // see conductor.Config.DisallowedBootModes

	verifyCA   string // see conductor.Config.AgentVerifyCA
	requireTLS *bool  // see conductor.Config.RequireAgentTLS; nil without the flag

	listen   string // host:port for agents alone; empty if they share the API's port
	networks conductor.AgentNetworks

	biosBootloaders, withoutMD5 bool // see api.Config.BIOSBootloaders and AgentsWithoutMD5

	keepPXE, skipBMCPorts bool     // see conductor.Config.KeepPXEEnabled and hardware.Config.SkipBMCPorts
	hooks                 []string // see conductor.Config.InspectionHooks

	fastTrack        bool
	fastTrackTimeout time.Duration
}

func (a *agentFlags) define(flags *flag.FlagSet) {
	a.timeouts, a.priorities = machine.DefaultTimeouts(), map[string]int{}
	t := &a.timeouts
	flags.DurationVar(&t.Deploy, "deploy-callback-timeout", t.Deploy,
		"`time` without a heartbeat of the agent after which a deployment fails; 0 disables it, as with the next four flags")
	flags.DurationVar(&t.Clean, "clean-callback-timeout", t.Clean, "`time` without a heartbeat after which a cleaning fails")
	flags.DurationVar(&t.Inspect, "inspect-wait-timeout", t.Inspect, "`time` after which an inspection fails for which no agent has sent data")
	flags.DurationVar(&t.Rescue, "rescue-callback-timeout", t.Rescue, "`time` without a heartbeat after which a rescue fails")
	flags.DurationVar(&t.Service, "service-callback-timeout", t.Service, "`time` without a heartbeat after which a service fails")
	flags.StringVar(&a.verifyCA, "agent-verify-ca", "true",
		"how the certificate of an agent is verified that sends none in its heartbeats: true, false, or the path of a `file` with "+
			"certificates; agent_verify_ca in driver_info overrides it")
	flags.BoolFunc("agent-require-tls", "refuse the heartbeats of agents that serve their API without TLS; -agent-require-tls=false permits "+
		"them; without it they are refused since 2024.2", a.setRequireTLS)
	flags.BoolVar(&a.biosBootloaders, "agent-bios-bootloaders", false,
		"permit agents to install the boot loaders of partition images in machines that boot by BIOS, "+
			"in which the image may run code in the agent (CVE-2026-43003)")
	flags.BoolVar(&a.withoutMD5, "agent-without-md5", false, "tell agents to refuse images whose checksum is by MD5, since 2023.2")
	flags.StringVar(&a.listen, "agent-listen", "",
		"`host:port` for agents alone, which have no password: lookups, heartbeats and inspection data are answered there and get "+
			"403 at -listen; with TLS if -listen has it")
	flags.Func("agent-network", "`CIDR` of a network of machines, such as 10.0.0.0/24; may be repeated; "+
		"lookups, heartbeats and inspection data from elsewhere get 403, "+
		"and commands are sent to the addresses that it has; without it they come from everywhere, and commands are sent only to "+
		"the address from which a heartbeat comes; "+
		"a proxy in front needs it, with the proxy's own address; 0.0.0.0/0 has no loopback, link-local and multicast addresses, 127.0.0.0/8 has",
		a.addNetwork)
	flags.BoolVar(&a.keepPXE, "inspection-keeps-pxe-enabled", false,
		"leave pxe_enabled of the ports that a node has as it is when the node is inspected")
	flags.BoolVar(&a.skipBMCPorts, "inspection-without-bmc-ports", false,
		"create no ports of the network interfaces that the BMC reports before an agent inspects the machine")
	flags.Func("inspection-hooks", "comma-separated `names` of hooks that handle the data of an inspection after Ironic's default ones: "+
		strings.Join(conductor.InspectionHooks(states.Latest()), ", "), a.setHooks)
	flags.BoolVar(&a.fastTrack, "fast-track", false,
		"leave machines on after an inspection or a cleaning, so that the agent that runs does the next work without a boot; "+
			"fast_track in driver_info overrides it")
	flags.DurationVar(&a.fastTrackTimeout, "fast-track-timeout", 5*time.Minute,
		"`time` since the last heartbeat after which such an agent is taken for dead; 0 stands for 5m0s")
	flags.Func("clean-step-priority", "`interface.step:priority` of a step of automated cleaning, such as deploy.erase_devices:0, "+
		"which leaves that step out; may be repeated; without it the agent's and the driver's priorities apply", a.setPriority)
	flags.Func("disallow-step", "`work:interface.step` of a step that is refused in requests and left out of automatic work, "+
		"such as clean:bios.factory_reset; work is clean, deploy or service; may be repeated; without it vendor.send_raw since 2025.1",
		a.disallow)
	flags.Func("disallow-boot-mode", "`request:mode` of a boot mode that is refused, such as deploy:bios; request is enroll, for the "+
		"capabilities of nodes, or deploy; mode is bios or uefi; may be repeated, since 2024.2", a.disallowMode)
}

// addNetwork parses a value of -agent-network.
func (a *agentFlags) addNetwork(value string) error {
	network, err := netip.ParsePrefix(value)
	if err != nil || network != network.Masked() || network.Addr().Is4In6() {
		return errors.New("want a network, such as 10.0.0.0/24 or 2001:db8::/64")
	}
	a.networks = append(a.networks, network)
	return nil
}

// setRequireTLS parses the value of -agent-require-tls.
func (a *agentFlags) setRequireTLS(value string) error {
	required, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("want true or false")
	}
	a.requireTLS = &required
	return nil
}

// setHooks parses the value of -inspection-hooks.
func (a *agentFlags) setHooks(value string) error {
	a.hooks = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	return nil
}

// setPriority parses a value of -clean-step-priority.
func (a *agentFlags) setPriority(value string) error {
	name, text, _ := strings.Cut(value, ":")
	priority, err := strconv.Atoi(text)
	if kind, step, _ := strings.Cut(name, "."); kind == "" || step == "" || err != nil || priority < 0 {
		return errors.New("want interface.step:priority, such as deploy.erase_devices:0")
	}
	a.priorities[name] = priority
	return nil
}

// disallow parses a value of -disallow-step.
func (a *agentFlags) disallow(value string) error {
	kind, name, _ := strings.Cut(value, ":")
	work := map[string]states.Work{"clean": states.WorkClean, "deploy": states.WorkDeploy, "service": states.WorkService}[kind]
	if iface, step, _ := strings.Cut(name, "."); work == states.NoWork || iface == "" || step == "" {
		return errors.New("want clean:interface.step, or deploy or service in place of clean, such as clean:bios.factory_reset")
	}
	if a.disallowed == nil {
		a.disallowed = map[states.Work][]string{}
	}
	a.disallowed[work] = append(a.disallowed[work], name)
	return nil
}

// disallowMode parses a value of -disallow-boot-mode.
func (a *agentFlags) disallowMode(value string) error {
	request, mode, _ := strings.Cut(value, ":")
	list := map[string]*[]string{"enroll": &a.bootModes.Enrollment, "deploy": &a.bootModes.Deployment}[request]
	if list == nil || mode != "bios" && mode != "uefi" {
		return errors.New("want enroll:bios, enroll:uefi, deploy:bios or deploy:uefi")
	}
	*list = append(*list, mode)
	return nil
}

// powerSyncFlags are the flags of the power sync.
type powerSyncFlags struct {
	interval time.Duration
	workers  int
	retries  int
	health   bool
}

func (p *powerSyncFlags) define(flags *flag.FlagSet) {
	flags.DurationVar(&p.interval, "power-sync-interval", 2*time.Minute,
		"`time` from the start of one power sync to the start of the next; 0 disables it")
	flags.IntVar(&p.workers, "power-sync-workers", 8, "`number` of nodes whose power state is read at the same time")
	flags.IntVar(&p.retries, "power-sync-retries", 3,
		"`number` of power syncs in a row that a node may fail; the next failure puts it into maintenance")
	flags.BoolVar(&p.health, "power-sync-health", true,
		"read the health of machines in each power sync, which is one more request to each BMC")
}

func (p *powerSyncFlags) check() error {
	switch {
	case p.interval < 0:
		return program.Usagef("-power-sync-interval is %v: want 0 or more", p.interval)
	case p.workers <= 0:
		return program.Usagef("-power-sync-workers is %d: want more than 0", p.workers)
	case p.retries < 0:
		return program.Usagef("-power-sync-retries is %d: want 0 or more", p.retries)
	default:
		return nil
	}
}

// config returns the configuration of the power sync, in which 0 retries stands for the default and a negative number
// for none.
func (p *powerSyncFlags) config() powersync.Config {
	c := powersync.Config{Interval: p.interval, Workers: p.workers, Policy: powersync.Policy{MaxRetries: p.retries}}
	if p.retries == 0 {
		c.MaxRetries = -1
	}
	return c
}
