package conductor

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Config says what a [Conductor] works on, and how. Store and Hardware are needed;
// the zero value of every other field stands for Ironic's default.
type Config struct {
	Store Store
	// Hardware are the hardware types, by the name that nodes have in their driver.
	Hardware map[string]Hardware

	// Membership tells which other conductors use the Store; nil: none do, and whatever
	// is reserved by another process was left behind when that died.
	Membership Membership

	// Name is written into the reservations of nodes that this conductor works on, and
	// decides which nodes are its own. It must be no other conductor's of the Store, and
	// should be the same after a restart, so that the nodes stay where they were. Empty
	// stands for the host's name (host).
	Name string
	// Group is the conductor group: a conductor works on the nodes of its group
	// (conductor_group).
	Group string
	// Table is the series whose rules hold; nil stands for the latest.
	Table *states.Table

	// SkipAutomatedClean lets nodes become available without automated cleaning where
	// they do not say otherwise (automated_clean = False).
	SkipAutomatedClean bool
	// MaxDeploying and MaxCleaning bound the nodes that are deployed, or are cleaned
	// or torn down, at once; 0 stands for 250 and 50 (max_concurrent_deploy,
	// max_concurrent_clean).
	MaxDeploying, MaxCleaning int
	// Workers bounds the nodes that are worked on at once; 0 stands for 300
	// (workers_pool_size). A request beyond is refused with [NoWorker].
	Workers int
	// LockedRetries is how often a request for a node that somebody works on is tried
	// again, and LockedInterval the time in between, before it is refused with
	// [Locked]; 0 stands for 3 and 1 s (node_locked_retry_attempts,
	// node_locked_retry_interval). A negative number is never.
	LockedRetries  int
	LockedInterval time.Duration
	// CheckInterval is the time between two looks at all nodes, for timeouts and for
	// work that nobody has begun; 0 stands for 60 s (check_provision_state_interval).
	CheckInterval time.Duration
	// Timeouts say how long nodes wait for a call-back; nil stands for
	// [machine.DefaultTimeouts].
	Timeouts *machine.Timeouts
	// VerifyTimeout bounds a verification; 0 stands for a minute.
	VerifyTimeout time.Duration
	// ResumeVerification begins a verification anew whose conductor has died, instead of
	// reporting it as failed: it changes nothing on the hardware. Ironic does not.
	ResumeVerification bool
	// ShutdownTimeout is how long Run waits, when its context has ended, until work
	// that is under way is done, before it gives the work up; 0 stands for 60 s
	// (graceful_shutdown_timeout). Work that was given up has failed.
	ShutdownTimeout time.Duration
	// MaxHistory is how many entries of a node's history are kept; 0 stands for 300
	// (node_history_max_entries).
	MaxHistory int

	// Power configures the power sync. Its Store, Driver, Name and Logger are the
	// conductor's.
	Power powersync.Config
	// SkipPowerSync leaves the rounds of the power sync out
	// (sync_power_state_interval = 0).
	SkipPowerSync bool

	// Log gets a line for each transition and each failure. Nil is silent.
	Log *slog.Logger
	// OnTransition is called, one after the other for one node, when the record of a
	// transition was stored. It should return soon: the node's work waits for it.
	OnTransition func(Transition)
	// Tracer follows requests into the work that they begin; nil: nobody does.
	Tracer Tracer
}

// Transition is a step of a node through the state machine, as it was stored.
type Transition struct {
	Time  time.Time
	Node  *Node // as it is afterwards
	From  states.State
	Event string // the word that was requested, or the event that was reported
}

// ConfigError says which field of a [Config] cannot work.
type ConfigError struct {
	Field string
	Want  string // a value that would have been right
}

var errNilContext = &ConfigError{"the context", "set"}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("conductor: bad configuration: %s must be %s", e.Field, e.Want)
}

// withDefaults returns the configuration with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		return c, &ConfigError{"Store", "set"}
	}
	if len(c.Hardware) == 0 {
		return c, &ConfigError{"Hardware", "set, with at least one hardware type"}
	}
	for name, hardware := range c.Hardware {
		if name == "" || hardware == nil {
			return c, &ConfigError{"Hardware", "hardware types with names, none of them nil"}
		}
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("conductor: no Name is configured, and the host has none: %w", err)
		}
		c.Name = host
	}
	if c.Membership == nil {
		c.Membership = &alone{}
	}
	if c.Table == nil {
		c.Table = states.Latest().Table()
	}
	if c.Timeouts == nil {
		timeouts := machine.DefaultTimeouts()
		c.Timeouts = &timeouts
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		field string
		value *int
		zero  int
	}{
		{"MaxDeploying", &c.MaxDeploying, 250}, {"MaxCleaning", &c.MaxCleaning, 50},
		{"Workers", &c.Workers, 300}, {"MaxHistory", &c.MaxHistory, 300},
	} {
		if *d.value < 0 {
			return c, &ConfigError{d.field, "0 or more"}
		}
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if c.LockedRetries == 0 {
		c.LockedRetries = 3
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		zero  time.Duration
	}{
		{"LockedInterval", &c.LockedInterval, time.Second}, {"CheckInterval", &c.CheckInterval, time.Minute},
		{"VerifyTimeout", &c.VerifyTimeout, time.Minute}, {"ShutdownTimeout", &c.ShutdownTimeout, time.Minute},
	} {
		if *d.value < 0 {
			return c, &ConfigError{d.field, "0 or more"}
		}
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	return c, nil
}

// alone reports whether no other conductor uses the store.
func (c Config) alone() bool {
	_, is := c.Membership.(*alone)
	return is
}

// hardwareNames returns the names of the hardware types, sorted.
func (c Config) hardwareNames() []string {
	var names []string
	for name := range c.Hardware {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
