// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"time"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/powersync"
)

// powerFlags are the flags of the power sync.
type powerFlags struct {
	interval time.Duration
	workers  int
	retries  int
	health   bool
}

func (p *powerFlags) define(flags *flag.FlagSet) {
	flags.DurationVar(&p.interval, "power-sync-interval", 2*time.Minute, "`time` from the start of one power sync to the start of the next; 0 disables it")
	flags.IntVar(&p.workers, "power-sync-workers", 8, "`number` of nodes whose power state is read at the same time")
	flags.IntVar(&p.retries, "power-sync-retries", 3, "`number` of power syncs in a row that a node may fail; the next failure puts it into maintenance")
	flags.BoolVar(&p.health, "power-sync-health", true, "read the health of machines in each power sync, which is one more request to each BMC")
}

func (p *powerFlags) check() error {
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

func (p *powerFlags) config() powersync.Config {
	c := powersync.Config{Interval: p.interval, Workers: p.workers, Policy: powersync.Policy{MaxRetries: p.retries}}
	if p.retries == 0 {
		c.MaxRetries = -1
	}
	return c
}
