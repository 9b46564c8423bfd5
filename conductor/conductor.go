package conductor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Conductor manages nodes. [New] makes it, [Conductor.Run] does its work, and the other
// methods serve requests of clients. It is safe for concurrent use. The methods of a nil or
// zero Conductor, and all methods with a nil context, return a [*ConfigError]; Name and Table
// then return zero values.
type Conductor struct {
	config Config
	fleet  *fleet
	syncer *powersync.Syncer
	pool   *workerPool

	described atomic.Pointer[map[string]Description] // by the name of the hardware type; those of all members

	counters counters

	serving  sync.Map      // the UUIDs of the calls of other conductors that this one serves now
	joined   chan struct{} // closed when the conductor is a member for the first time
	joinOnce sync.Once

	mu      sync.Mutex
	run     *run     // nil until Run
	session *session // nil while this conductor is no member
}

// run holds the contexts and the wait group of one call of Run.
type run struct {
	ctx   context.Context // of the watches and the periodic checks
	work  context.Context // of the work on nodes, which may outlive ctx
	group sync.WaitGroup  // all goroutines
}

var errWatchEnded = errors.New("the watch has ended")

// New returns a conductor that does nothing until [Conductor.Run] is called. The error is a
// [*ConfigError], or that of [powersync.New].
func New(config Config) (*Conductor, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Conductor{
		config: config, fleet: newFleet(config), pool: newWorkerPool(config.Workers),
		joined: make(chan struct{}),
	}
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
	case c == nil || c.fleet == nil:
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
	if c.run != nil {
		c.mu.Unlock()
		return errors.New("conductor: Run was called before")
	}
	c.run = r
	kinds := []Kind{KindAllocation, KindHistory}
	if !c.config.alone() {
		kinds = append(kinds, kindCall)
	}
	c.fleet.follow(ctx, &r.group, c.consider, c.considerObject, kinds...)
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
	if c == nil {
		return Config{}
	}
	return c.config
}

// hardware returns a node's hardware type.
func (c *Conductor) hardware(n *Node) (Hardware, error) {
	hardware, ok := c.config.Hardware[n.Driver]
	if !ok {
		return nil, noHardware(n)
	}
	return hardware, nil
}

func noHardware(n *Node) error {
	return refuse(Invalid, "no conductor has the hardware type %q of node %s", n.Driver, n.UUID)
}

// now returns the time in the resolution of Ironic's records.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
