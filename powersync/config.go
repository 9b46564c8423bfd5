package powersync

import (
	"cmp"
	"io"
	"log/slog"
	"math"
	"os"
	"time"
)

// Ironic's defaults.
const (
	DefaultInterval         = 120 * time.Second
	DefaultRecoveryInterval = 300 * time.Second
	DefaultWorkers          = 8
	DefaultMaxRetries       = 3
	DefaultTimeout          = 60 * time.Second
	DefaultSoftTimeout      = 600 * time.Second
)

const (
	// NoRetries, as [Config.MaxRetries], sends a node into maintenance with its
	// first failure.
	NoRetries = -1
	// Never, as [Config.RecoveryInterval], leaves recovery to the caller of
	// [Syncer.Recover].
	Never time.Duration = -1

	defaultPoll       = time.Second
	defaultMaxBackoff = time.Hour
)

// Config says what a [Syncer] works on, and how. Store and Driver are needed; the
// zero value of all else stands for what Ironic does.
type Config struct {
	Store  Store
	Driver Driver

	// Name is written into the reservations of nodes that this Syncer holds. It
	// must be the same after a restart and no other process's that uses the
	// Store. Empty stands for the host's name, as in Ironic.
	Name string

	// Interval is the time from the start of one round to the start of the next;
	// 0 stands for 120 s (sync_power_state_interval).
	Interval time.Duration
	// RecoveryInterval is the same of recovery rounds; 0 stands for 300 s
	// (power_failure_recovery_interval). Never switches them off.
	RecoveryInterval time.Duration
	// Workers is how many nodes are looked at at a time in a round; 0 stands for
	// 8 (sync_power_state_workers).
	Workers int
	// MaxRetries is how many rounds in a row a node may fail before it goes into
	// maintenance with the next one; 0 stands for 3
	// (power_state_sync_max_retries). See NoRetries.
	MaxRetries int
	// Timeout bounds each call of the Driver, and in Set the wait for a power
	// state; 0 stands for 60 s (power_state_change_timeout).
	Timeout time.Duration
	// SoftTimeout bounds the wait for what a soft request asked for; 0 stands
	// for 600 s (soft_power_off_timeout).
	SoftTimeout time.Duration
	// Poll is the time between two looks at hardware that is to reach a power
	// state; 0 stands for 1 s.
	Poll time.Duration

	// RecordOnly never sets hardware in rounds: what was read is recorded
	// (force_power_state_during_sync = False).
	RecordOnly bool
	// ForgetUnread records no power state for a node that goes into maintenance
	// since it cannot be read. Ironic's documentation says that the recorded one
	// stays, and Ironic's code does this.
	ForgetUnread bool

	// What follows Ironic has not; the zero values are off.

	// Jitter delays the start of each round of Run by a random time up to this,
	// so that processes that start together do not stay together.
	Jitter time.Duration
	// Backoff leaves a node that failed alone for this time, twice that after
	// the second failure in a row, and so on, up to MaxBackoff, in rounds of
	// both kinds. It then also takes longer until the node is in maintenance.
	Backoff time.Duration
	// MaxBackoff bounds the time that Backoff grows to; 0 stands for 1 h.
	MaxBackoff time.Duration
	// Network names the BMC network that a node's BMC is in. At most PerNetwork
	// nodes of one network are looked at at a time by a round. The two go
	// together. Network is called by one goroutine a round.
	Network    func(id string) string
	PerNetwork int
	// ForceLimit is how many times hardware may be set by rounds within any
	// minute, so that a wrong database cannot switch a hall off. Nodes beyond
	// are left as they are, and their attempt does not count.
	ForceLimit int

	// Logger gets what rounds do: at level Warn what failed or was forced, at
	// level Error what went into maintenance. Nil is silent.
	Logger *slog.Logger
	// OnEvent is called with what became of each node that was neither equal nor
	// skipped, and of each power request, by many goroutines at once. The round
	// waits for it.
	OnEvent func(Event)
	// OnReport is called by Run after each round, with the error of Sync or
	// Recover. Rounds of different kinds may end at once.
	OnReport func(Report, error)
}

// complete returns the configuration with its defaults, or a *ConfigError.
func (c Config) complete() (Config, error) {
	if err := c.check(); err != nil {
		return Config{}, err
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil || host == "" {
			return Config{}, &ConfigError{"Name", "empty", "a name, since the host has none"}
		}
		c.Name = host
	}
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	c.RecoveryInterval = cmp.Or(c.RecoveryInterval, DefaultRecoveryInterval)
	c.Workers = cmp.Or(c.Workers, DefaultWorkers)
	c.MaxRetries = max(cmp.Or(c.MaxRetries, DefaultMaxRetries), 0)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.SoftTimeout = cmp.Or(c.SoftTimeout, DefaultSoftTimeout)
	c.Poll = cmp.Or(c.Poll, defaultPoll)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, max(defaultMaxBackoff, c.Backoff))
	if c.Logger == nil {
		nothing := &slog.HandlerOptions{Level: slog.Level(math.MaxInt)}
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nothing))
	}
	return c, nil
}

func (c Config) check() error {
	const notNegative = "0 for the default, or more"
	const offOrMore = "0 for off, or more"
	for _, rule := range []struct {
		field string
		value any
		ok    bool
		want  string
	}{
		{"Store", c.Store, c.Store != nil, "a Store"},
		{"Driver", c.Driver, c.Driver != nil, "a Driver"},
		{"Interval", c.Interval, c.Interval >= 0, notNegative},
		{"RecoveryInterval", c.RecoveryInterval, c.RecoveryInterval >= Never, notNegative + ", or Never"},
		{"Workers", c.Workers, c.Workers >= 0, notNegative},
		{"MaxRetries", c.MaxRetries, c.MaxRetries >= NoRetries, notNegative + ", or NoRetries"},
		{"Timeout", c.Timeout, c.Timeout >= 0, notNegative},
		{"SoftTimeout", c.SoftTimeout, c.SoftTimeout >= 0, notNegative},
		{"Poll", c.Poll, c.Poll >= 0, notNegative},
		{"Jitter", c.Jitter, c.Jitter >= 0, offOrMore},
		{"Backoff", c.Backoff, c.Backoff >= 0, offOrMore},
		{"MaxBackoff", c.MaxBackoff, c.MaxBackoff == 0 || c.MaxBackoff >= max(c.Backoff, 1), "0, or as much as Backoff at least"},
		{"Backoff", c.Backoff, c.MaxBackoff == 0 || c.Backoff > 0, "more than 0, since MaxBackoff is set"},
		{"PerNetwork", c.PerNetwork, c.PerNetwork >= 0, offOrMore},
		{"Network", "nil", c.PerNetwork == 0 || c.Network != nil, "a function, since PerNetwork is set"},
		{"PerNetwork", c.PerNetwork, c.Network == nil || c.PerNetwork > 0, "more than 0, since Network is set"},
		{"ForceLimit", c.ForceLimit, c.ForceLimit >= 0, offOrMore},
	} {
		if !rule.ok {
			return &ConfigError{rule.field, rule.value, rule.want}
		}
	}
	return nil
}
