// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// options are the parsed flags.
type options struct {
	serverFlags
	storeFlags
	backups         backupFlags // if one is set, no service is started
	images          imageFlags
	series          states.Series
	group           string
	defaultGroup    string // of new nodes
	groupLimits     bool   // see conductor.Config.LimitsByGroup
	fleetName       string
	cleaning        cleaningFlags
	resumeVerify    bool
	bmcs            bmcFlags
	checkInterval   time.Duration
	expectedTimes   []string // STATE=DURATION
	expected        conductor.ExpectedTimes
	agents          agentFlags
	powerSync       powerSyncFlags
	fakeDelay       time.Duration
	fakeRestart     bool
	demo            int
	shutdownTimeout time.Duration
	otlp            string // the URL of the trace collector
	logLevel        slog.Level
	logJSON         bool
}

// maxDemo bounds the number of built-in BMCs.
const maxDemo = 100

// parse returns the options, or a usage error.
func parse(args []string, errOut io.Writer) (*options, error) {
	o := &options{series: states.Latest(), logLevel: slog.LevelInfo}
	flags := flag.NewFlagSet("ironstate", flag.ContinueOnError)
	o.define(flags)
	if err := program.Parse(flags, args, errOut); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["demo"] && o.chosen() != nil {
		o.demo = 0
	}
	sharing := o.sharing()
	empty := func(name string) bool { return flags.Lookup(name).Value.String() == "" }
	if given["lease"] && !slices.ContainsFunc(sharing, func(name string) bool { return !empty(name) }) {
		return nil, program.Usagef("-lease needs -%s: without them no other conductor takes nodes over", strings.Join(sharing, " or -"))
	}
	for _, name := range slices.Concat(neverEmpty, sharing) {
		if given[name] && empty(name) {
			return nil, program.Usagef(`-%s is "": want a value, or no such flag`, name)
		}
	}
	return o, o.check()
}

// neverEmpty are flags that must not be given without a value, such as a variable that a shell does not have: a service
// without a password, without TLS or with a store in memory would start. The flags of [storeKind.sharing] are others.
var neverEmpty = []string{"auth-file", "tls-cert", "tls-key", "backup", "restore"}

func (o *options) define(flags *flag.FlagSet) {
	o.serverFlags.define(flags)
	o.storeFlags.define(flags)
	o.backups.define(flags)
	o.images.define(flags)
	flags.TextVar(&o.series, "series", o.series, "OpenStack `series` whose rules and API versions apply, such as 2023.1")
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
	flags.Func("expected-time", "`STATE=DURATION` such as 'clean wait=24h': a node that is in this working or waiting state "+
		"for longer is overdue, which the metrics and the live page show; may be repeated; "+
		"the default of a state is the timeout of its work, 0 is none",
		func(value string) error { o.expectedTimes = append(o.expectedTimes, value); return nil })
	o.agents.define(flags)
	o.powerSync.define(flags)
	flags.DurationVar(&o.fakeDelay, "fake-delay", 0, "maximum `time` of an operation on fake-hardware; each takes a random part of it")
	flags.BoolVar(&o.fakeRestart, "fake-restart", false, "end each step of fake-hardware with a restart of the machine")
	flags.IntVar(&o.demo, "demo", 3, "`number` of built-in Redfish BMCs that are enrolled as an example; "+
		"0 for none, as without this flag with -data, -etcd or -cluster")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 5*time.Second, "`time` that work in flight may continue after SIGTERM")
	flags.StringVar(&o.otlp, "otlp", "", "`URL` of an OpenTelemetry collector that receives traces by OTLP over HTTP; "+
		"empty stands for OTEL_EXPORTER_OTLP_ENDPOINT; tracing is off without either")
	flags.TextVar(&o.logLevel, "log-level", o.logLevel,
		"`level` of the log on standard error: DEBUG, INFO, WARN or ERROR; etcd's warnings are DEBUG")
	flags.Func("log-format", "`format` of the log: text, the default, or json", o.setLogFormat)
}

// setLogFormat parses the value of -log-format.
func (o *options) setLogFormat(value string) error {
	o.logJSON = value == "json"
	if !o.logJSON && value != "text" {
		return errors.New("want text or json")
	}
	return nil
}

// logHandler returns the handler of the log.
func (o *options) logHandler(to io.Writer) slog.Handler {
	config := &slog.HandlerOptions{Level: o.logLevel}
	if o.logJSON {
		return slog.NewJSONHandler(to, config)
	}
	return slog.NewTextHandler(to, config)
}

// check returns the first error of the flags, and parses the values that depend on other flags.
func (o *options) check() error {
	return cmp.Or(
		program.Between("demo", o.demo, 0, maxDemo),
		o.storeFlags.check(),
		o.backups.check(o),
		o.images.check(),
		positive("shutdown-timeout", o.shutdownTimeout),
		positive("check-interval", o.checkInterval),
		o.parseExpected(),
		o.checkSeries(),
		o.powerSync.check(),
		o.agents.check(),
		usageOf(flagOf, o.conductorConfig().Check()),
		usageOf(flagOf, o.hardwareConfig().Check()),
		notNegative("fake-delay", o.fakeDelay),
		o.serverFlags.check(o.agents.listen),
		o.checkTracing(),
	)
}

// checkTracing returns an error for a malformed -otlp.
func (o *options) checkTracing() error {
	if o.otlp == "" {
		return nil
	}
	_, err := observe.CollectorURL(o.otlp)
	return err
}

// checkSeries refuses an empty -series, and flags that have no effect in the series.
func (o *options) checkSeries() error {
	if o.series == states.NoSeries {
		return program.Usagef(`-series is "": want a series, such as 2023.1`)
	}
	modes := o.agents.bootModes
	for _, f := range []struct {
		name  string
		given bool
		since states.Series
		older string // says what the conductor does in earlier series, at the end of the error
	}{
		{"clean-failed-power-off", o.cleaning.powerOff, states.Bobcat, "leaves machines on"},
		{"default-group", o.defaultGroup != "", states.Caracal, "has no default of new nodes"},
		{"agent-without-md5", o.agents.withoutMD5, states.Bobcat, "permits its agents MD5"},
		{"disallow-boot-mode", len(modes.Enrollment)+len(modes.Deployment) > 0, states.Dalmatian, "allows all boot modes"},
		{"limits-by-group", o.groupLimits, states.Gazpacho, "counts the nodes of all conductor groups"},
	} {
		if f.given && o.series < f.since {
			return program.Usagef("-%s is given: %v %s", f.name, o.series, f.older)
		}
	}
	return nil
}

// flagOf names the flags of fields of the configurations of packages, where the package checks the value of the flag.
var flagOf = map[string]string{
	"conductor.Name": "-name", "conductor.Group": "-group", "conductor.DefaultGroup": "-default-group",
	"conductor.AgentVerifyCA":            "-agent-verify-ca",
	"conductor.AutomatedCleaning.Source": "-clean-step-source",
	"conductor.ExpectedTimes":            "-expected-time",
	"conductor.FastTrackTimeout":         "-fast-track-timeout",
	"conductor.InspectionHooks":          "-inspection-hooks",

	"hardware.APIURL":              "-api-url",
	"hardware.ByArchitecture":      "-deploy-kernel-by-arch and -deploy-ramdisk-by-arch",
	"hardware.DefaultDeploy":       "-deploy-interface",
	"hardware.ImageDownloadSource": "-image-download-source",
	"hardware.KernelParameters":    "-kernel-append-params",
	"hardware.Timeout":             "-bmc-timeout",
	"hardware.VerifyCA":            "-bmc-verify-ca",
}

// usageOf returns the usage error about a flag in place of a [*machine.ConfigError] about the field that the flag
// sets, by a table such as flagOf.
func usageOf(flagOf map[string]string, err error) error {
	var refused *machine.ConfigError
	if !errors.As(err, &refused) {
		return err
	}
	name := flagOf[refused.Package+"."+refused.Field]
	if name == "" {
		return err
	}
	return program.Usagef("%s%s", name, strings.TrimPrefix(refused.Error(), refused.Package+": "+refused.Field))
}

// positive returns a usage error for a value of 0 or less.
func positive[T int | time.Duration](name string, value T) error {
	if value <= 0 {
		return program.Usagef("-%s is %v: want more than 0", name, value)
	}
	return nil
}

// notNegative returns a usage error for a value below 0.
func notNegative[T int | time.Duration](name string, value T) error {
	if value < 0 {
		return program.Usagef("-%s is %v: want 0 or more", name, value)
	}
	return nil
}

// parseExpected parses the values of -expected-time.
func (o *options) parseExpected() error {
	o.expected = conductor.ExpectedTimes{}
	for _, value := range o.expectedTimes {
		word, text, _ := strings.Cut(value, "=")
		s, unknown := states.Parse(word)
		limit, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return program.Usagef("-expected-time is %q: want STATE=DURATION with a duration such as 90m or 24h", value)
		case unknown != nil:
			return program.Usagef("-expected-time is %q: %w", value, unknown)
		}
		o.expected[s] = limit
	}
	return nil
}

// conductorConfig returns the configuration of the conductor that the flags give.
func (o *options) conductorConfig() conductor.Config {
	return conductor.Config{
		Name: o.name, Group: o.group, DefaultGroup: o.defaultGroup, LimitsByGroup: o.groupLimits, Table: o.series.Table(),
		SkipAutomatedClean: !o.cleaning.automated, AutomatedCleaning: o.cleaning.config(), PowerOffInCleanFail: o.cleaning.powerOff,
		CleanStepPriorities: o.agents.priorities, DisallowedSteps: o.agents.disallowed, DisallowedBootModes: o.agents.bootModes,
		KeepPXEEnabled: o.agents.keepPXE, InspectionHooks: o.agents.hooks, Timeouts: &o.agents.timeouts,
		AgentVerifyCA: o.agents.verifyCA, RequireAgentTLS: o.agents.requireTLS, AgentAddress: o.agents.networks.Check,
		FastTrack: o.agents.fastTrack, FastTrackTimeout: o.agents.fastTrackTimeout,
		ResumeVerification: o.resumeVerify, ExpectedTimes: o.expected, CheckInterval: o.checkInterval, ShutdownTimeout: o.shutdownTimeout,
		Power: o.powerSync.config(), SkipPowerSync: o.powerSync.interval == 0, SkipHealth: !o.powerSync.health,
	}
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
	return cmp.Or(notNegative("power-sync-interval", p.interval), positive("power-sync-workers", p.workers),
		notNegative("power-sync-retries", p.retries))
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
