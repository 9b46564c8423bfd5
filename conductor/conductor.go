package conductor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Conductor manages nodes. [New] makes it, [Conductor.Run] does its work, and the other
// methods serve requests of clients. It is safe for concurrent use. The methods of a nil or
// zero Conductor, and all methods with a nil context, return a [*ConfigError]; Name and Table
// then return zero values.
type Conductor struct {
	*engine
	syncer  *powersync.Syncer
	serving sync.Map // the UUIDs of the calls of other conductors that this one serves now
}

var errWatchEnded = errors.New("the watch has ended")

// New returns a conductor that does nothing until [Conductor.Run] is called. The error is a
// [*ConfigError], or that of [powersync.New].
func New(config Config) (*Conductor, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Conductor{engine: &engine{
		rulebook: &rulebook{config: config}, fleet: newFleet(config), pool: newWorkerPool(config.Workers),
		joined: make(chan struct{}),
	}}
	c.front = c
	c.history = history{c.fleet, c.rulebook}
	c.describe(nil)
	c.config.Log = slog.New(naming{c.config.Log.Handler(), c.fleet.nodes})
	if c.syncer, err = c.newSyncer(); err != nil {
		return nil, err
	}
	return c, nil
}

// usable returns an error if the conductor is nil or zero or the context is nil.
func (c *Conductor) usable(ctx context.Context) error {
	switch {
	case c == nil || c.engine == nil:
		return &ConfigError{"Conductor", "one that New made"}
	case ctx == nil:
		return errNilContext
	default:
		return nil
	}
}

// Run does the work that the stored records call for until the context ends: requested
// work, timeouts, the power sync. As in Ironic, it reports the work of a process that has
// died as failed. Run returns the context's error when all its goroutines have ended. It
// may be called once.
func (c *Conductor) Run(ctx context.Context) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	member, leave := context.WithCancel(context.WithoutCancel(ctx)) // until no work is left
	defer leave()
	r := &run{ctx: ctx, work: work}
	c.mu.Lock()
	if c.engine.run != nil {
		c.mu.Unlock()
		return errors.New("conductor: Run was called before")
	}
	c.engine.run = r
	c.fleet.follow(ctx, &r.group, c.consider, c.considerObject, append(c.pendingKinds(), KindHistory)...)
	r.group.Go(func() { c.keepMembership(member, r) })
	r.group.Go(func() { c.check(ctx) })
	r.group.Go(func() { _ = c.syncer.Run(ctx) }) // its error is the context's
	c.mu.Unlock()

	<-ctx.Done()
	c.pool.close(c.config.ShutdownTimeout, func() { stopWork(errShutdown) })
	leave()
	r.group.Wait()
	return ctx.Err()
}

// Ready waits until Run has read the nodes and the conductor accepts requests. If the context
// ends first, Ready returns the context's error.
func (c *Conductor) Ready(ctx context.Context) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	select {
	case <-c.joined:
		return c.fleet.nodes.wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Name returns the conductor's name.
func (c *Conductor) Name() string { return c.configuration().Name }

// Table returns the state machine that the conductor follows.
func (c *Conductor) Table() *states.Table { return c.configuration().Table }

// configuration returns the configuration with its defaults; for a nil Conductor it is zero.
func (c *Conductor) configuration() Config {
	if c == nil || c.engine == nil {
		return Config{}
	}
	return c.config
}

// now returns the time in the resolution of Ironic's records.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
