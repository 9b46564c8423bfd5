// SPDX-License-Identifier: Apache-2.0

package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/conductor/agent"
	"github.com/ironstate/ironstate/conductor/internal/nodelog"
	"github.com/ironstate/ironstate/conductor/internal/workerpool"
	"github.com/ironstate/ironstate/internal/masked"
	"github.com/ironstate/ironstate/states"
)

// Conductor manages nodes. [New] makes it, [Conductor.Run] does its work, and the other
// methods serve requests of clients. It is safe for concurrent use.
type Conductor struct {
	config    *Config
	rules     *rulebook
	fleet     *fleet
	sessions  *sessions
	engine    *engine
	allocator *allocator
	calls     *calls
	published *fileWithdrawer
	begun     atomic.Bool // by Run
}

// New returns a conductor that does nothing until [Conductor.Run] is called. The error is a
// [*machine.ConfigError], or comes from [powersync.New].
func New(config Config) (*Conductor, error) {
	if err := config.checkParts(); err != nil {
		return nil, err
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if config.Agent.Budget == nil {
		config.Agent.Budget = agent.NewBudget()
	}
	fleet := newFleet(config)
	config.Log = slog.New(nodelog.Handler{Handler: masked.Log(config.Log.Handler()), Name: fleet.nameOf})
	types := &hardwareTypes{descriptions: &descriptions{}, config: &config}
	if types.own, err = types.describeOwn(); err != nil {
		return nil, err
	}
	types.describe(nil)
	rules := &rulebook{config: &config, types: types.descriptions}
	c := &Conductor{config: &config, rules: rules, fleet: fleet}
	counters := &counters{}
	c.sessions = &sessions{
		config:   &config,
		rules:    rules,
		counters: counters,
		changed:  c.reconcileAll,
		joined:   make(chan struct{}),
		refused:  make(chan struct{}),
	}
	c.engine = &engine{
		config: &config, rules: rules, types: types, fleet: fleet, sessions: c.sessions, counters: counters,
		history: history{&config, fleet}, transitions: newTransitions(&config),
		pool: workerpool.New(config.Workers, config.reservedWorkers()), resolve: net.DefaultResolver.LookupNetIP,
	}
	c.allocator = &allocator{config: &config, rules: rules, fleet: fleet, sessions: c.sessions, pool: c.engine.pool}
	c.calls = &calls{config: &config, fleet: fleet, sessions: c.sessions, conductor: c}
	c.published = &fileWithdrawer{config: &config, fleet: fleet, sessions: c.sessions, pool: c.engine.pool}
	if c.engine.syncer, err = newSyncer(c.engine); err != nil {
		return nil, err
	}
	return c, nil
}

// Run does the work that the stored records call for until the context ends: requested
// work, timeouts, the power sync. As in Ironic, it reports the work of a process that has
// died as failed. Run returns the context's error when all its goroutines have ended. It
// may be called once.
func (c *Conductor) Run(ctx context.Context) error {
	if c.begun.Swap(true) {
		return errors.New("conductor: Run was called before")
	}
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	member, leave := context.WithCancel(context.WithoutCancel(ctx)) // until no work is left
	r := &run{ctx: ctx, work: work}
	c.engine.transitions.RunIn(&r.group)
	// Work that goes on after the end of ctx may read a kind of objects for the first time.
	c.fleet.follow(member, &r.group, reconciler{c.engine}.node, c.reconcileObject, append(c.config.pendingKinds(), KindHistory)...)
	r.group.Go(func() { c.sessions.keep(member, r) })
	r.group.Go(func() { every(ctx, c.config.CheckInterval, c.reconcileAll) })
	if !c.config.SkipPowerSync {
		r.group.Go(func() { _ = c.engine.syncer.Run(ctx) }) // its error is the context's
	}

	<-ctx.Done()
	c.sessions.drain(work)
	c.engine.pool.Close(c.config.ShutdownTimeout, func() { stopWork(errShutdown) })
	leave()
	c.fleet.unfollow()
	c.engine.transitions.RunIn(nil)
	r.group.Wait()
	return ctx.Err()
}

// errShutdown is the cause of cancelled and refused work when the conductor stops.
var errShutdown = errors.New("the conductor was stopped")

// every calls f at each end of an interval until the context ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		f()
	}
}

// reconcileAll reconciles every node, allocation and call in the indexes, deletes the objects without a node and the
// allocations that have lost theirs, and withdraws the published files that no machine needs.
func (c *Conductor) reconcileAll() {
	for _, n := range c.fleet.nodes.All() {
		reconciler{c.engine}.node(n)
	}
	for _, kind := range c.config.pendingKinds() {
		for _, o := range c.fleet.of(kind).All() {
			c.reconcileObject(o)
		}
	}
	c.discardOrphans()
	c.allocator.discardAllFreed()
	c.published.check()
}

// reconcileObject processes an allocation, or a call of another conductor, that is pending. It is
// called for each object that any process writes, and at each check.
func (c *Conductor) reconcileObject(o Object) {
	switch o := o.(type) {
	case *Allocation:
		c.allocator.reconcile(o)
	case *callRecord:
		c.calls.reconcile(o)
	}
}

// Ready waits until Run has read the nodes and the conductor accepts requests. If the
// context ends first, Ready returns the context's error. Its error matches [ErrNameTaken] if the
// conductor could not join because another one has its name; Run goes on to try.
func (c *Conductor) Ready(ctx context.Context) error {
	select {
	case <-c.sessions.joined:
	case <-c.sessions.refused:
		select {
		case <-c.sessions.joined: // later
		default:
			return fmt.Errorf("conductor %s: %w", c.config.Name, ErrNameTaken)
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.fleet.nodes.Wait(ctx)
}

// Name returns the conductor's name.
func (c *Conductor) Name() string { return c.config.Name }

// Table returns the state machine that the conductor follows.
func (c *Conductor) Table() *states.Table { return c.config.Table }

// now returns the time in the resolution of Ironic's records.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
