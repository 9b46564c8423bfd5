// SPDX-License-Identifier: Apache-2.0

package powersync

import (
	"cmp"
	"io"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/states"
)

// The defaults: Ironic's, and our own for fields that have no counterpart in Ironic.
const (
	defaultInterval         = 120 * time.Second
	defaultRecoveryInterval = 300 * time.Second
	defaultWorkers          = 8
	defaultMaxRetries       = 3
	defaultTimeout          = 60 * time.Second
	defaultSoftTimeout      = 600 * time.Second
	defaultPoll             = time.Second
	defaultMaxBackoff       = time.Hour
)

// Config configures a [Syncer]. Store and Driver are needed, or Handler alone; the zero
// value of every other field stands for Ironic's behaviour. Jitter, Backoff, MaxBackoff and
// ForceLimit have no counterpart in Ironic.
//
// Logger, OnEvent and OnReport are callbacks. The Syncer waits for a callback for an eighth
// of Timeout, 10 s at most. Then it abandons the call, and does not call this callback
// again until the call has returned. A callback that panics or ends its goroutine does no
// harm. [Stats] counts the calls that failed or were not made, as Dropped.
type Config struct {
	// Store has the records of the nodes.
	Store Store
	// Driver reads and sets their hardware.
	Driver Driver
	// Handler handles the nodes in place of Store and Driver, which must be nil then.
	// The Handler itself applies Policy, CanForce, Poll and SoftTimeout, and Timeout and
	// SetPowerTimeout to its calls of hardware. Name is unused then.
	Handler Handler

	// Policy decides about nodes that cannot be read or differ from their record.
	Policy

	// Name is written into the reservations that this Syncer makes. It must
	// be the same after a restart, and different from the names of other processes
	// that use the Store. Empty stands for the host's name, as in Ironic.
	Name string

	// Interval is the time from the start of one round to the start of the next;
	// 0 stands for 120 s (sync_power_state_interval).
	Interval time.Duration
	// RecoveryInterval is the same for recovery rounds; 0 stands for 300 s
	// (power_failure_recovery_interval). A negative one disables them.
	RecoveryInterval time.Duration
	// Workers is the size of a round's worker pool: how many nodes it handles at
	// a time; 0 stands for 8 (sync_power_state_workers).
	Workers int
	// Timeout bounds each call of the Driver but SetPower, which [Config.SetPowerTimeout]
	// bounds, each Load and Update of the Store, and in Set the wait for a power state;
	// 0 stands for 60 s (power_state_change_timeout). Once its context has ended, a call
	// may take an eighth of Timeout to return, 2 s at most. Storing the outcome of a
	// change of power may take a quarter of Timeout, 10 s at most.
	Timeout time.Duration
	// SoftTimeout bounds the wait for the power state of a soft request; 0 stands
	// for 600 s (soft_power_off_timeout).
	SoftTimeout time.Duration
	// Poll is the time between two reads while Set waits for a power state; 0 stands
	// for 1 s.
	Poll time.Duration

	// CanForce reports whether rounds may set the power of a node; otherwise the
	// reading is recorded. It is Ironic's supports_power_sync. The rules for calls of
	// the Driver apply to it. Nil allows it for all nodes.
	CanForce func(id string) bool

	// Jitter delays the start of each round of Run by a random time up to this,
	// so that processes that start together do not run their rounds together; 0
	// stands for no delay.
	Jitter time.Duration
	// Backoff is how long rounds of both kinds skip a node after its first failure.
	// The time doubles with each further failure in a row, up to MaxBackoff. A node
	// then also goes into maintenance later. 0 skips no node.
	Backoff time.Duration
	// MaxBackoff bounds the time that Backoff grows to; 0 stands for 1 h, or Backoff if that is longer.
	MaxBackoff time.Duration
	// ForceLimit is how many times rounds may set hardware within any minute, so that
	// a wrong database cannot switch a data centre off. Nodes beyond the limit are left
	// unchanged, and their attempt does not count. 0 stands for no limit.
	ForceLimit int

	// Logger gets a line for each event and each round. Nodes that failed or were forced
	// have level Warn, nodes that went into maintenance Error, and rounds that were in
	// time Debug. Nil disables logging.
	Logger *slog.Logger
	// OnEvent is called for each node that was neither equal nor skipped, for each
	// power request, and for each last error that was cleared, by many goroutines
	// at once.
	OnEvent func(Event)
	// OnReport is called by Run after each round, with the error of Sync or
	// Recover. Rounds of different kinds may end at the same time.
	OnReport func(Report, error)
}

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	const notNegative, offOrMore = "0 for the default, or more", "0 for off, or more"
	for _, rule := range []struct {
		field string
		value any
		ok    bool
		want  string
	}{
		{"Store", c.Store, c.Store != nil || c.Handler != nil, "a Store"},
		{"Store", c.Store, c.Store == nil || c.Handler == nil, "nil, since Handler is set"},
		{"Driver", c.Driver, c.Driver != nil || c.Handler != nil, "a Driver"},
		{"Driver", c.Driver, c.Driver == nil || c.Handler == nil, "nil, since Handler is set"},
		{"Interval", c.Interval, c.Interval >= 0, notNegative},
		{"Workers", c.Workers, c.Workers >= 0, notNegative},
		{"Timeout", c.Timeout, c.Timeout >= 0, notNegative},
		{"SoftTimeout", c.SoftTimeout, c.SoftTimeout >= 0, notNegative},
		{"Poll", c.Poll, c.Poll >= 0, notNegative},
		{"Jitter", c.Jitter, c.Jitter >= 0, offOrMore},
		{"Backoff", c.Backoff, c.Backoff >= 0, offOrMore},
		{"MaxBackoff", c.MaxBackoff, c.MaxBackoff == 0 || c.MaxBackoff >= max(c.Backoff, 1), "0, or as much as Backoff at least"},
		{"Backoff", c.Backoff, c.MaxBackoff == 0 || c.Backoff > 0, "more than 0, since MaxBackoff is set"},
		{"ForceLimit", c.ForceLimit, c.ForceLimit >= 0, offOrMore},
	} {
		if !rule.ok {
			return Config{}, &machine.ConfigError{Package: "powersync", Field: rule.field, Value: rule.value, Want: rule.want}
		}
	}
	if c.Name == "" {
		host, _ := os.Hostname()
		if host == "" {
			return Config{}, &machine.ConfigError{Package: "powersync", Field: "Name", Value: c.Name, Want: "a name, since the host has none"}
		}
		c.Name = host
	}
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	c.RecoveryInterval = cmp.Or(c.RecoveryInterval, defaultRecoveryInterval)
	c.MaxRetries = cmp.Or(c.MaxRetries, defaultMaxRetries)
	c.Workers = cmp.Or(c.Workers, defaultWorkers)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.SoftTimeout = cmp.Or(c.SoftTimeout, defaultSoftTimeout)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	if c.Backoff > 0 {
		c.MaxBackoff = cmp.Or(c.MaxBackoff, max(defaultMaxBackoff, c.Backoff))
	}
	if c.Logger == nil {
		c.Logger = discard
	}
	return c, nil
}

// discard is the Logger of a Config without one. It is compared, so that no call is made for it.
var discard = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.Level(math.MaxInt)}))

// maxGrace bounds the grace of a call.
const maxGrace = 2 * time.Second

// grace returns how long a call may take to return once its context ended.
func (c Config) grace() time.Duration { return min(maxGrace, c.Timeout/8) }

// SetPowerTimeout returns how long a call of SetPower may take: five minutes, or Timeout if that is longer. A driver
// may restore a boot device first, and repeat a power on that the BMC refuses, as Ironic's Redfish driver does for a
// minute.
func (c Config) SetPowerTimeout() time.Duration { return max(c.Timeout, 5*time.Minute) }

// RequestTimeout returns how long a request for a power state waits until the hardware has it: for
// SoftTimeout if the request is a soft one, otherwise for Timeout.
func (c Config) RequestTimeout(power states.Power) time.Duration {
	if power == states.PowerSoftOff || power == states.PowerSoftRebooting {
		return c.SoftTimeout
	}
	return c.Timeout
}
