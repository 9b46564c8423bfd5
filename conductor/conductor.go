package conductor

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ironstate/ironstate/powersync"
	"github.com/ironstate/ironstate/states"
)

// Conductor manages nodes. Make it with [New], let [Conductor.Run] work, and call the
// other methods for clients. It is safe for concurrent use.
type Conductor struct {
	config  Config
	store   Store
	created time.Time
	claim   string // of the nodes that this process works on; others of the same name have another
	nodes   *index[Node]
	syncer  *powersync.Syncer
	tasks   *tasks

	mu      sync.Mutex
	indexes map[Kind]*index[Object]
	run     *run // nil until Run
}

// run is what Run gives its goroutines.
type run struct {
	ctx   context.Context // of the watches and the periodic checks
	work  context.Context // of the work on nodes, which may outlive ctx
	group sync.WaitGroup  // all goroutines
}

var (
	errWatchEnded = errors.New("the watch has ended")
	errNotRunning = errors.New("the conductor does not run")
)

// New returns a conductor, which does nothing until it runs. The error is a
// [*ConfigError], or a [*powersync.ConfigError].
func New(config Config) (*Conductor, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Conductor{
		config: config, store: config.Store, created: now(), claim: uuid.NewString(),
		tasks: newTasks(config.Workers), indexes: map[Kind]*index[Object]{},
	}
	c.nodes = newIndex(KindNode, decodeNode, func(n *Node) meta { return meta{n.UUID, n.CreatedAt, "", n.Revision} })
	if c.syncer, err = c.newSyncer(); err != nil {
		return nil, err
	}
	return c, nil
}

// Run does the work that the stored records ask for, until the context ends: work
// that was requested, timeouts, the power sync. It begins with the work of a process
// of the same name that has died, as Ironic does: that work has failed. It returns
// the context's error when all its goroutines have ended. It may be called once.
func (c *Conductor) Run(ctx context.Context) error {
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)
	r := &run{ctx: ctx, work: work}
	c.mu.Lock()
	if c.run != nil {
		c.mu.Unlock()
		return errors.New("conductor: Run was called before")
	}
	c.run = r
	r.group.Go(func() { c.nodes.follow(ctx, c.store, c.config.Log, c.consider) })
	for _, x := range c.indexes {
		r.group.Go(func() { x.follow(ctx, c.store, c.config.Log, nil) })
	}
	r.group.Go(func() { c.check(ctx) })
	r.group.Go(func() { c.resumeAllocations(ctx) })
	if !c.config.SkipPowerSync {
		r.group.Go(func() { _ = c.syncer.Run(ctx) }) // its error is the context's
	}
	c.mu.Unlock()

	<-ctx.Done()
	c.tasks.close(c.config.ShutdownTimeout, func() { stopWork(errShutdown) })
	r.group.Wait()
	return ctx.Err()
}

// running returns the run, or an error before Run and after its end.
func (c *Conductor) running() (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil || c.run.ctx.Err() != nil {
		return nil, refuse(NoWorker, "no worker is free: %v", errNotRunning)
	}
	return c.run, nil
}

// Name returns the conductor's name.
func (c *Conductor) Name() string { return c.config.Name }

// Table returns the state machine whose rules hold.
func (c *Conductor) Table() *states.Table { return c.config.Table }

// Hardware ranges over the hardware types, by name.
func (c *Conductor) Hardware() iter.Seq2[string, Hardware] {
	return func(yield func(string, Hardware) bool) {
		for _, name := range c.config.hardwareNames() {
			if !yield(name, c.config.Hardware[name]) {
				return
			}
		}
	}
}

// hardware returns a node's hardware type.
func (c *Conductor) hardware(n *Node) (Hardware, error) {
	hardware, ok := c.config.Hardware[n.Driver]
	if !ok {
		return nil, refuse(Invalid, "no conductor has the hardware type %q of node %s", n.Driver, n.UUID)
	}
	return hardware, nil
}

// owns reports whether this conductor works on a node.
func (c *Conductor) owns(n *Node) bool {
	_, ok := c.config.Hardware[n.Driver]
	return ok && n.ConductorGroup == c.config.Group
}

// now returns the time in the resolution that Ironic's records have.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Members returns the conductors of the store, by name.
func (c *Conductor) Members(context.Context) ([]Member, error) {
	member := Member{
		Hostname: c.config.Name, Group: c.config.Group, Drivers: c.config.hardwareNames(),
		Alive: true, CreatedAt: c.created, UpdatedAt: now(),
	}
	return []Member{member}, nil
}
