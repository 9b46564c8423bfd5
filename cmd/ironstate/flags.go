// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/observe"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// options are the parsed flags.
type options struct {
	serverFlags
	storeFlags
	conductorFlags
	logFlags
	backups   backupFlags // if one is set, no service is started
	images    imageFlags
	cleaning  cleaningFlags
	bmcs      bmcFlags
	agents    agentFlags
	powerSync powerSyncFlags
	fake      fakeFlags
	series    states.Series
	fleetName string
	demo      int
	otlp      string // the URL of the trace collector
}

// maxDemo bounds the number of built-in BMCs.
const maxDemo = 100

// parse returns the options, or a usage error.
func parse(args []string, errOut io.Writer) (*options, error) {
	o := &options{series: states.Latest()}
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
	for _, group := range []interface{ define(*flag.FlagSet) }{
		&o.serverFlags, &o.storeFlags, &o.conductorFlags, &o.logFlags, &o.backups, &o.images, &o.cleaning, &o.bmcs, &o.agents,
		&o.powerSync, &o.fake,
	} {
		group.define(flags)
	}
	flags.TextVar(&o.series, "series", o.series, "OpenStack `series` whose rules and API versions apply, such as 2023.1")
	flags.StringVar(&o.fleetName, "fleet-name", "",
		"`name` of all nodes together, the title of the live page; empty stands for \"Nodes of\" and the conductor's name")
	flags.IntVar(&o.demo, "demo", 3, "`number` of built-in Redfish BMCs that are enrolled as an example; "+
		"0 for none, as without this flag with -data, -"+strings.Join(o.sharing(), " or -"))
	flags.StringVar(&o.otlp, "otlp", "", "`URL` of an OpenTelemetry collector that receives traces by OTLP over HTTP; "+
		"empty stands for OTEL_EXPORTER_OTLP_ENDPOINT; tracing is off without either")
}

// check returns the first error of the flags, and parses the values that depend on other flags.
func (o *options) check() error {
	return cmp.Or(
		program.Between("demo", o.demo, 0, maxDemo),
		o.storeFlags.check(),
		o.backups.check(o),
		o.images.check(),
		o.conductorFlags.check(),
		o.checkSeries(),
		o.powerSync.check(),
		o.agents.check(),
		usageOf(flagOf, o.conductorConfig().Check()),
		usageOf(flagOf, o.hardwareConfig().Check()),
		notNegative("fake-delay", o.fake.delay),
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
