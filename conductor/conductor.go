package conductor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ironstate/ironstate/states"
)

// Conductor manages nodes. [New] makes it, [Conductor.Run] does its work, and the other
// methods serve requests of clients. It is safe for concurrent use. With a nil context, all methods
// return a [*ConfigError].
type Conductor struct {
	*engine
	calls *calls
}

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
	c.calls = &calls{engine: c.engine, conductor: c}
	c.changed = c.considerAll
	c.history = history{c.fleet, c.rulebook}
	c.describe(nil)
	c.config.Log = slog.New(naming{c.config.Log.Handler(), c.fleet.nodes})
	if c.engine.syncer, err = c.newSyncer(); err != nil {
		return nil, err
	}
	return c, nil
}

// usable returns an error for a nil context.
func usable(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	return nil
}

// Run does the work that the stored records call for until the context ends: requested
// work, timeouts, the power sync. As in Ironic, it reports the work of a process that has
// died as failed. Run returns the context's error when all its goroutines have ended. It
// may be called once.
func (c *Conductor) Run(ctx context.Context) error {
	if err := usable(ctx); err != nil {
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
	if !c.config.SkipPowerSync {
		r.group.Go(func() { _ = c.syncer.Run(ctx) }) // its error is the context's
	}
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
	if err := usable(ctx); err != nil {
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
func (c *Conductor) Name() string { return c.config.Name }

// Table returns the state machine that the conductor follows.
func (c *Conductor) Table() *states.Table { return c.config.Table }

// now returns the time in the resolution of Ironic's records.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
