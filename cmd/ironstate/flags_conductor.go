// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"flag"
	"strings"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// conductorFlags are the flags of the conductor that have no group of their own.
type conductorFlags struct {
	group           string
	defaultGroup    string // of new nodes
	groupLimits     bool   // see conductor.Config.LimitsByGroup
	resumeVerify    bool
	checkInterval   time.Duration
	expectedTimes   []string // STATE=DURATION
	expected        conductor.ExpectedTimes
	shutdownTimeout time.Duration
}

func (c *conductorFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&c.group, "group", "", "conductor `group`: the conductor manages the nodes of this group")
	flags.BoolVar(&c.groupLimits, "limits-by-group", false,
		"count only the nodes of a node's conductor group for the limits of 250 deployments and 50 cleanings, since 2026.1")
	flags.StringVar(&c.defaultGroup, "default-group", "", "conductor `group` of new nodes that name none, since 2024.1")
	flags.BoolVar(&c.resumeVerify, "resume-verification", false, "restart a verification whose conductor has died, instead of failing it")
	flags.DurationVar(&c.checkInterval, "check-interval", time.Minute,
		"`time` between two checks of all nodes for timeouts and for work that no conductor has started")
	flags.Func("expected-time", "`STATE=DURATION` such as 'clean wait=24h': a node that is in this working or waiting state "+
		"for longer is overdue, which the metrics and the live page show; may be repeated; "+
		"the default of a state is the timeout of its work, 0 is none",
		func(value string) error { c.expectedTimes = append(c.expectedTimes, value); return nil })
	flags.DurationVar(&c.shutdownTimeout, "shutdown-timeout", 5*time.Second, "`time` that work in flight may continue after SIGTERM")
}

// minCheck is the shortest interval of the checks. Each visits every node: with less the checks of a large fleet would
// follow each other without a pause.
const minCheck = 100 * time.Millisecond

func (c *conductorFlags) check() error {
	if c.checkInterval < minCheck {
		return program.Usagef("-check-interval is %v: want %v or more", c.checkInterval, minCheck)
	}
	return cmp.Or(positive("shutdown-timeout", c.shutdownTimeout), c.parseExpected())
}

// parseExpected parses the values of -expected-time.
func (c *conductorFlags) parseExpected() error {
	c.expected = conductor.ExpectedTimes{}
	for _, value := range c.expectedTimes {
		word, text, _ := strings.Cut(value, "=")
		s, unknown := states.Parse(word)
		limit, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return program.Usagef("-expected-time is %q: want STATE=DURATION with a duration such as 90m or 24h", value)
		case unknown != nil:
			return program.Usagef("-expected-time is %q: %w", value, unknown)
		}
		c.expected[s] = limit
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
		"read the health of machines and how they boot in each power sync, which are two more requests to each BMC")
}

// minPowerSync is the shortest interval of the power sync. Ironic's option is a number of seconds, and each power sync
// is a request to every BMC: with less the syncs would follow each other without a pause.
const minPowerSync = time.Second

func (p *powerSyncFlags) check() error {
	if p.interval != 0 && p.interval < minPowerSync {
		return program.Usagef("-power-sync-interval is %v: want 0 or %v or more", p.interval, minPowerSync)
	}
	return cmp.Or(positive("power-sync-workers", p.workers), notNegative("power-sync-retries", p.retries))
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
