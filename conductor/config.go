// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/internal/kinds"
	"github.com/ironstate/ironstate/internal/sorted"
	"github.com/ironstate/ironstate/machine"
	"github.com/ironstate/ironstate/machine/admission"
	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Config configures a [Conductor]. Store and Hardware are required; the zero value of every
// other field stands for Ironic's default. The names in parentheses are Ironic's options.
type Config struct {
	Store Store
	// Hardware maps the name in a node's Driver to its hardware type. A name has letters, digits, hyphens, dots and
	// underscores.
	Hardware map[string]Hardware

	// Membership reports which conductors of the Store are alive. Nil means that no other
	// conductor uses the Store: every reservation of another process belongs to a process
	// which has died.
	Membership Membership

	// Name is stored as the reservation of nodes that this conductor works on, and is
	// hashed to assign nodes to conductors. It must be unique among the conductors of the
	// Store, and should be the same after a restart, so that the conductor keeps its nodes.
	// Empty stands for the host name (host).
	Name string
	// Group is the conductor group: a conductor works on the nodes of its group, whose records have it in lower case
	// (conductor_group).
	Group string
	// Table is the state machine of the series to follow; nil stands for the latest.
	Table *states.Table

	// SkipAutomatedClean makes nodes available without automated cleaning, unless the node's
	// automated_clean field overrides it (automated_clean = False). Automated cleaning
	// fails for a hardware type that has no automated clean steps.
	SkipAutomatedClean bool
	// AutomatedCleaning chooses the steps of automated cleanings.
	AutomatedCleaning AutomatedCleaning
	// CleanStepPriorities are the priorities of steps of automated cleaning in place of the priorities of the agent and
	// the hardware type, by the interface and the step, such as "deploy.erase_devices"; 0 leaves the step out
	// (clean_step_priority_override, and erase_devices_priority and its like).
	CleanStepPriorities map[string]int
	// DisallowedSteps has the steps that the operator does not allow, such as "bios.factory_reset", by the work in which
	// they would run: a cleaning, a deployment or a service (disallow_clean_steps, disallow_deploy_steps,
	// disallow_service_steps). A request with such a step is refused, and so is, unlike in Ironic, a deployment by a
	// deploy template that has one. Work that is composed of the steps of the hardware type and the agent leaves it out.
	// Nil stands for Ironic's default, which is vendor.send_raw in each of these since 2025.1; an empty map allows
	// all steps.
	DisallowedSteps map[states.Work][]string
	// DisallowedBootModes are the boot modes that the operator does not allow in new nodes, and in deployments
	// (disallowed_enrollment_boot_modes, disallowed_deployment_boot_modes). Unlike in Ironic, a deployment is also refused
	// if the capabilities of the node or its instance ask for a mode. Series before 2024.2 have no such options.
	DisallowedBootModes admission.BootModes
	// PowerOffInCleanFail powers the machine off when a cleaning fails, also in a step, which may be an update of its
	// firmware (poweroff_in_cleanfail). Series before 2023.2 have no such option.
	PowerOffInCleanFail bool
	// KeepPXEEnabled leaves pxe_enabled of the ports that a node has as it is when the node is inspected
	// ([inspector]update_pxe_enabled = False).
	KeepPXEEnabled bool
	// InspectionHooks are the names of the hooks that run after Ironic's default ones on the data of an inspection, see
	// the function [InspectionHooks] ([inspector]hooks, and since 2025.2 [redfish]inspection_hooks): "accelerators" and
	// "cpus" set properties, "local-link-connection" stores the switches of ports, and "parse-lldp" the readable LLDP data
	// of an agent.
	InspectionHooks []string
	// DefaultGroup is the conductor group of new nodes that name none (default_conductor_group). Series
	// before 2024.1 have no such option.
	DefaultGroup string
	// NoProvisioningInMaintenance refuses to provide a node in maintenance, fails its automated
	// cleaning, and at the next heartbeat any cleaning, deployment or rescue
	// (allow_provisioning_in_maintenance = False). Series before Train have no such option.
	NoProvisioningInMaintenance bool
	// KeepAvailable refuses to delete the record of an available node
	// (allow_deleting_available_nodes = False). Series before Stein have no such option.
	KeepAvailable bool
	// MaxDeploying bounds the nodes that are deployed at the same time, MaxCleaning those that
	// are cleaned or torn down; 0 stands for 250 and 50 (max_concurrent_deploy,
	// max_concurrent_clean).
	MaxDeploying, MaxCleaning int
	// LimitsByGroup counts only the nodes of a node's conductor group for these limits
	// (max_concurrent_per_conductor_group). Series before 2026.1 have no such option.
	LimitsByGroup bool
	// Workers is the size of the worker pool; each worker works on one node. 0 stands for 300
	// (workers_pool_size). Without a free worker a request is refused with [NoWorker].
	Workers int
	// ReservedWorkers is the percentage of the pool, up to 50, that heartbeats of agents and power syncs do not use, so
	// that requests find a worker if many agents hang; 0 stands for 5, and a negative number for none
	// (reserved_workers_pool_percentage). Series before 2024.1 have none.
	ReservedWorkers int
	// LockedRetries is the number of retries of a request for a reserved node before the
	// request is refused with [Locked], and LockedInterval the time between two attempts;
	// 0 stands for 3 and 1 s (node_locked_retry_attempts, node_locked_retry_interval). A
	// negative LockedRetries disables retries.
	LockedRetries  int
	LockedInterval time.Duration
	// CheckInterval is the period of the check of all nodes for timeouts and for work that
	// no process has started; 0 stands for 60 s (check_provision_state_interval).
	CheckInterval time.Duration
	// Timeouts bound how long nodes wait for a call-back; nil stands for
	// [machine.DefaultTimeouts].
	Timeouts *machine.Timeouts
	// ExpectedTimes has the times after which nodes in working and waiting states are overdue, see
	// [Conductor.ExpectedTimes]. A state without an entry has the timeout of its work: VerifyTimeout for verifying, and
	// for a waiting state its timeout in Timeouts. It has no expected time if that timeout is disabled. Ironic has no such
	// option.
	ExpectedTimes ExpectedTimes
	// VerifyTimeout bounds a verification; 0 stands for a minute.
	VerifyTimeout time.Duration
	// ResumeVerification restarts a verification whose conductor has died instead of
	// reporting it as failed. That is safe, since a verification changes nothing on the
	// hardware. Ironic has no such option.
	ResumeVerification bool
	// ShutdownTimeout bounds how long Run waits for work in flight after its context has
	// ended; 0 stands for 60 s (graceful_shutdown_timeout). Work that has not ended by then
	// is cancelled and has failed. Calls of a [Hardware] that do not return are then abandoned.
	ShutdownTimeout time.Duration
	// MaxHistory is how many entries of a node's history are kept; 0 stands for 300
	// (node_history_max_entries).
	MaxHistory int
	// MinHistoryAge keeps the entries of a node's history that are younger besides the MaxHistory newest of the others
	// (node_history_minimum_days); 0 keeps none besides them.
	MinHistoryAge time.Duration
	// MaxTransitions is how many transitions a node's record keeps, see Node.Transitions, but never less than its last
	// write made; 0 stands for [DefaultMaxTransitions]. Each takes 50 to 60 bytes in the store and in memory, and its last
	// error. Ironic has no such option.
	MaxTransitions int

	// Agent has the timeouts and bounds of the conversations with agents. The conductor sets its URL,
	// Token, VerifyCA, SkipVerify and Node, and calls its Dial with IP addresses.
	Agent agent.Config
	// AgentAddress returns an error unless requests to an agent may be sent to an address, which the host of the agent's
	// URL has. The heartbeat with the URL came from source, which is the zero value if the caller of [Conductor.Heartbeat]
	// did not set it. The function is called at each heartbeat and for each connection, concurrently, and must not block.
	// Nil stands for AgentNetworks{}.Check, which permits the source alone. Ironic has no such option.
	AgentAddress func(source, address netip.Addr) error
	// AgentVerifyCA says how the certificate of an agent is verified that sends none in its heartbeats: "true" by the
	// authorities of the operating system, "false" not at all, or by those in the file with this path; "true" if empty
	// ([agent]verify_ca). The file is read again for each agent. The key agent_verify_ca of driver_info overrides it.
	AgentVerifyCA string
	// RequireAgentTLS refuses the heartbeats of agents that serve their API without TLS, or permits them
	// ([agent]require_tls). Nil stands for Ironic's default: they are refused since 2024.2. What is sent to an agent
	// without TLS, such as its token and a config drive, can be read on the way.
	RequireAgentTLS *bool

	// FastTrack has the agent that runs when work begins do that work, if its last heartbeat is at most FastTrackTimeout
	// old: its machine is not booted before a cleaning or a deployment, and stays on after an inspection or a cleaning.
	// Agents then also look up nodes in enroll, manageable and available, and send heartbeats ([deploy]fast_track). The
	// key fast_track of driver_info overrides it.
	FastTrack bool
	// FastTrackTimeout is the maximum age of that heartbeat; 0 stands for 300 s ([deploy]fast_track_timeout). Agents
	// send a heartbeat every 90 to 180 s.
	FastTrackTimeout time.Duration

	// Power configures the power sync. The conductor sets its Handler, Name and Logger.
	Power powersync.Config
	// SkipHealth has a round of the power sync read nothing but the power: neither the health of a machine
	// (enable_health_monitoring = False) nor, unlike in Ironic, how it boots and a vendor that the node lacks. By Redfish
	// these are two requests to a BMC besides the one for the power.
	SkipHealth bool
	// SkipPowerSync disables the periodic power sync (sync_power_state_interval = 0).
	SkipPowerSync bool

	// Log receives a record for each transition and each failure; nil discards them. Waits and steps are logged at Debug,
	// so that a deployment by an agent has five records at Info: its begin, its steps, its agent, its image, and its end.
	// The attribute "node" is a node's UUID, "name" its name if it has one.
	Log *slog.Logger
	// OnTransition is called once for each transition that this process has stored. The calls for one node are in the
	// order of its transitions and never overlap; those for different nodes may. No work and no request waits for them,
	// so the node may have moved on since. OnTransition may call the Conductor, also to request the next state of the
	// node. Run waits for the calls when it ends, so OnTransition must return, and must not wait for Run.
	//
	// A transition is not reported if the process dies before the call; if the response to its write was lost, unless
	// a read that follows or a retry of the write finds it stored; and if more than 100 transitions of the node wait for a
	// call that does not return: the oldest are then dropped, which is logged. The node's record has its last transitions,
	// see [Node.TransitionsSince]. Before Run and after it all requests for transitions are refused; one that is still in
	// flight when Run returns calls OnTransition itself.
	OnTransition func(Transition)
	// Tracer traces requests into the work that they start; nil disables tracing.
	Tracer Tracer
}

// ConfigError is the error of an invalid configuration.
type ConfigError = machine.ConfigError

// DefaultMaxTransitions is the MaxTransitions of a [Config] that sets none.
const DefaultMaxTransitions = 32

// withDefaults returns the configuration with its defaults filled in, or an error if it is invalid.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return c, &machine.ConfigError{Package: "conductor", Field: "Name", Err: fmt.Errorf("the host has none either: %w", err)}
		}
		c.Name = host
	}
	c.Group, c.DefaultGroup = strings.ToLower(c.Group), strings.ToLower(c.DefaultGroup)
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
	if c.AgentAddress == nil {
		c.AgentAddress = AgentNetworks{}.Check
	}
	if c.RequireAgentTLS == nil {
		required := c.Table.Series() >= states.Dalmatian
		c.RequireAgentTLS = &required
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.MaxDeploying, c.MaxCleaning = cmp.Or(c.MaxDeploying, 250), cmp.Or(c.MaxCleaning, 50)
	c.Workers, c.ReservedWorkers = cmp.Or(c.Workers, 300), cmp.Or(c.ReservedWorkers, 5)
	c.LockedRetries, c.LockedInterval = cmp.Or(c.LockedRetries, 3), cmp.Or(c.LockedInterval, time.Second)
	c.CheckInterval = cmp.Or(c.CheckInterval, time.Minute)
	c.VerifyTimeout, c.ShutdownTimeout = cmp.Or(c.VerifyTimeout, time.Minute), cmp.Or(c.ShutdownTimeout, time.Minute)
	c.FastTrackTimeout = cmp.Or(c.FastTrackTimeout, 5*time.Minute)
	c.MaxHistory, c.MaxTransitions = cmp.Or(c.MaxHistory, 300), cmp.Or(c.MaxTransitions, DefaultMaxTransitions)
	if err := c.check(); err != nil {
		return c, err
	}
	c.ExpectedTimes = c.withTimeouts()
	return c, nil
}

// Check returns the error with which [New] refuses a field other than Store and Hardware: a [*machine.ConfigError].
// A program can report its user's mistakes by it before it opens the store.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

// checkParts returns an error unless Store and Hardware are valid.
func (c *Config) checkParts() error {
	for name, hardware := range sorted.All(c.Hardware) {
		err := kinds.CheckName(name)
		if hardware == nil {
			err = fmt.Errorf("the hardware type %q is nil", name)
		}
		if err != nil {
			return &machine.ConfigError{Package: "conductor", Field: "Hardware", Err: err}
		}
	}
	switch {
	case c.Store == nil:
		return &machine.ConfigError{Package: "conductor", Field: "Store", Want: "a store, such as a Memory"}
	case len(c.Hardware) == 0:
		return &machine.ConfigError{Package: "conductor", Field: "Hardware", Want: "at least one hardware type"}
	}
	return nil
}

// check returns an error unless all other fields are valid. They have their defaults. Of several errors it returns the
// first in the order of the checks.
func (c *Config) check() (err error) {
	check := func(valid bool, field string, value any, want string) {
		if !valid && err == nil {
			err = &machine.ConfigError{Package: "conductor", Field: field, Value: value, Want: want}
		}
	}
	for field, group := range sorted.All(map[string]string{"Group": c.Group, "DefaultGroup": c.DefaultGroup}) {
		check(groupForm.MatchString(group), field, group, "up to 255 letters, digits, hyphens, dots and underscores")
	}
	check(!strings.ContainsFunc(c.Name, unicode.IsControl), "Name", c.Name, "no control characters")
	check(verifiesAgents(c.AgentVerifyCA), "AgentVerifyCA", c.AgentVerifyCA, "true, false, or the path of a file with certificates in PEM")
	for _, priority := range c.CleanStepPriorities {
		check(priority >= 0, "CleanStepPriorities", c.CleanStepPriorities, "priorities of 0 or more")
	}
	for work, steps := range c.DisallowedSteps {
		check(int(work) < len(works) && works[work].steps.requested != nil && allNamed(steps), "DisallowedSteps", c.DisallowedSteps,
			"for cleaning, deploying and servicing steps such as bios.factory_reset")
	}
	for _, mode := range slices.Concat(c.DisallowedBootModes.Enrollment, c.DisallowedBootModes.Deployment) {
		check(knownBootMode(mode) != "", "DisallowedBootModes", mode, "bios or uefi")
	}
	err = cmp.Or(err, c.AutomatedCleaning.check(c.Table.Series()))
	known := InspectionHooks(c.Table.Series())
	for _, name := range c.InspectionHooks {
		check(slices.Contains(known, name), "InspectionHooks", name, fmt.Sprintf("hooks that %v has besides its default ones: %s",
			c.Table.Series(), cmp.Or(strings.Join(known, ", "), "none")))
	}
	check(c.ReservedWorkers <= 50, "ReservedWorkers", c.ReservedWorkers, "a percentage up to 50")
	for field, value := range sorted.All(map[string]int{
		"MaxDeploying": c.MaxDeploying, "MaxCleaning": c.MaxCleaning, "Workers": c.Workers, "MaxHistory": c.MaxHistory,
		"MaxTransitions": c.MaxTransitions, "Agent.Attempts": c.Agent.Attempts, "Agent.Polls": c.Agent.Polls,
		"Agent.MaxAnswer": int(min(c.Agent.MaxAnswer, 0)),
	}) {
		check(value >= 0, field, value, "0 or more")
	}
	for field, value := range sorted.All(map[string]time.Duration{
		"LockedInterval": c.LockedInterval, "CheckInterval": c.CheckInterval, "VerifyTimeout": c.VerifyTimeout,
		"FastTrackTimeout": c.FastTrackTimeout, "ShutdownTimeout": c.ShutdownTimeout, "MinHistoryAge": c.MinHistoryAge,
		"Agent.Timeout": c.Agent.Timeout, "Agent.PollInterval": c.Agent.PollInterval,
	}) {
		check(value >= 0, field, value, "0 or more")
	}
	if wrong := c.ExpectedTimes.check(c.Table); wrong != nil && err == nil {
		err = &machine.ConfigError{Package: "conductor", Field: "ExpectedTimes", Err: wrong}
	}
	return err
}

// groupForm matches the conductor groups of conductors.
//
// Source: validate_conductor_group in ironic/common/utils.py.
var groupForm = regexp.MustCompile(`^[a-z0-9_.-]{0,255}$`)

// reservedSince is the first series in which a part of the worker pool is kept for requests: the heartbeats of agents,
// which may hang, and power syncs leave these workers.
//
// Source: the release note reserved-workers-3cc0af8782b00fcc of Ironic 24.1.0.
const reservedSince = states.Caracal

// reservedWorkers returns how many workers agents and power syncs may not use.
//
// Source: _init_executors in ironic/conductor/base_manager.py.
func (c *Config) reservedWorkers() int {
	if c.Table.Series() < reservedSince {
		return 0
	}
	return c.Workers * max(c.ReservedWorkers, 0) / 100
}

// alone reports whether no other conductor uses the store.
func (c *Config) alone() bool {
	_, is := c.Membership.(*alone)
	return is
}

// pendingKinds returns the kinds of the objects that a conductor processes.
func (c *Config) pendingKinds() []Kind {
	if c.alone() {
		return []Kind{KindAllocation}
	}
	return []Kind{KindAllocation, kindCall}
}
