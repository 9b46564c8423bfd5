package hardware

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/states"
	"github.com/ironstate/ironstate/verify"
	"github.com/ironstate/ironstate/verify/bmc"
)

// Config is what the nodes of a hardware type have in common. The zero value is ready
// for use.
type Config struct {
	// CheckManagement lets a verification look at the boot device too, as the
	// specification of the state enroll has it. Ironic's code does not.
	CheckManagement bool
	// Timeout bounds a call of a BMC; 0 stands for 30 s.
	Timeout time.Duration
	// Sessions is how many Redfish sessions are kept open between calls, all nodes
	// together; 0 stands for 1000 ([redfish]connection_cache_size), a negative number
	// keeps none.
	Sessions int
	// PowerTimeout bounds the wait of a step until a machine is on or off; 0 stands
	// for 60 s ([conductor]power_state_change_timeout).
	PowerTimeout time.Duration
}

const defaultSessions = 1000

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Timeout < 0:
		return c, &conductor.ConfigError{Field: "Timeout", Want: "0 or more"}
	case c.PowerTimeout < 0:
		return c, &conductor.ConfigError{Field: "PowerTimeout", Want: "0 or more"}
	case c.PowerTimeout == 0:
		c.PowerTimeout = time.Minute
	}
	switch {
	case c.Sessions == 0:
		c.Sessions = defaultSessions
	case c.Sessions < 0:
		c.Sessions = 0
	}
	return c, nil
}

// kind is what tells the hardware types apart.
type kind struct {
	interfaces  map[string][]string
	properties  map[string]string
	bootDevices []string
	// parse returns how to reach the BMC of a node, by the keys of its driver_info.
	parse func(info) (bmc.Config, error)
}

// BMC is a hardware type whose nodes have BMCs: a [conductor.Hardware] and a
// [conductor.BootDevicer]. Make it with [NewRedfish] or [NewIPMI], and Close it. It is
// safe for concurrent use. A nil or zero BMC has no interfaces and no steps, and its
// other methods return a [*conductor.ConfigError]. A nil node is an error.
//
// Errors about a node's record are a [*conductor.Error] that matches
// [conductor.Invalid] or [conductor.Unsupported]. Those of a BMC hold a [*verify.Error].
// None holds a password.
type BMC struct {
	kind
	config Config
	driver *bmc.Driver

	mu    sync.Mutex
	calls map[string]*call // that are under way, by UUID
}

var (
	_ conductor.Hardware    = (*BMC)(nil)
	_ conductor.BootDevicer = (*BMC)(nil)
)

// call is the calls of one node that are under way.
type call struct {
	config bmc.Config // of the latest of them
	count  int
}

// NewRedfish returns the hardware type "redfish". The error is a
// [*conductor.ConfigError].
func NewRedfish(c Config) (*BMC, error) { return newBMC(redfish, c) }

// NewIPMI returns the hardware type "ipmi", which needs the program ipmitool. The error
// is a [*conductor.ConfigError].
func NewIPMI(c Config) (*BMC, error) { return newBMC(ipmi, c) }

func newBMC(k kind, c Config) (*BMC, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &BMC{kind: k, config: c, calls: map[string]*call{}}
	b.driver, err = bmc.NewDriver(bmc.DriverConfig{Lookup: b.lookup, Sessions: c.Sessions})
	return b, err
}

// Close logs out of the sessions that are kept. Calls that are under way log out when
// they are done; later ones keep no session. The error is the context's, where it ends
// before all is done.
func (b *BMC) Close(ctx context.Context) error {
	if err := b.made(); err != nil {
		return err
	}
	return b.driver.Close(ctx)
}

// made returns an error for a BMC that neither NewRedfish nor NewIPMI has made.
func (b *BMC) made() error {
	if b == nil || b.driver == nil {
		return &conductor.ConfigError{Field: "BMC", Want: "one that NewRedfish or NewIPMI made"}
	}
	return nil
}

// usable returns why nothing can be done for a node.
func (b *BMC) usable(n *conductor.Node) error {
	if n == nil {
		return &conductor.Error{Reason: conductor.Invalid, Text: "there is no node: it is nil"}
	}
	return b.made()
}

// Describe implements [conductor.Hardware].
func (b *BMC) Describe() conductor.Description {
	if b.made() != nil {
		return conductor.Description{}
	}
	return conductor.Description{Interfaces: maps.Clone(b.interfaces), Properties: maps.Clone(b.properties)}
}

// Verify implements [conductor.Hardware]. It costs one log-in.
func (b *BMC) Verify(ctx context.Context, n *conductor.Node) (states.Power, error) {
	v, _, err := b.verifier(n)
	if err != nil {
		return states.NoPower, err
	}
	return v.Verify(ctx)
}

// PowerState implements [conductor.Hardware].
func (b *BMC) PowerState(ctx context.Context, n *conductor.Node) (power states.Power, err error) {
	err = b.do(n, func() (err error) {
		power, err = b.driver.PowerState(ctx, n.UUID)
		return err
	})
	return power, err
}

// SetPower implements [conductor.Hardware]. There is no soft rebooting.
func (b *BMC) SetPower(ctx context.Context, n *conductor.Node, power states.Power) error {
	return b.do(n, func() error { return b.driver.SetPower(ctx, n.UUID, power) })
}

// verifier returns how to reach the BMC of a node, and what verifies it.
func (b *BMC) verifier(n *conductor.Node) (verify.Verifier, bmc.Config, error) {
	if err := b.usable(n); err != nil {
		return nil, bmc.Config{}, err
	}
	c, err := b.parse(info{n})
	if err != nil {
		return nil, c, err
	}
	c.Timeout = b.config.Timeout
	c.SkipManagement = !b.config.CheckManagement
	c.LegacyBoot = bootsByBIOS(n)
	v, err := bmc.New(c)
	if err != nil {
		return nil, c, &conductor.Error{Reason: conductor.Invalid, Err: err,
			Text: fmt.Sprintf("The driver_info of node %s cannot be used: %v", n.UUID, err)}
	}
	return v, c, nil
}

// do calls f, which calls the driver for a node, whose BMC is looked up in b.calls.
func (b *BMC) do(n *conductor.Node, f func() error) error {
	_, c, err := b.verifier(n)
	if err != nil {
		return err
	}
	b.begin(n.UUID, c)
	defer b.end(n.UUID)
	return f()
}

func (b *BMC) begin(id string, c bmc.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls[id] == nil {
		b.calls[id] = &call{}
	}
	b.calls[id].config = c
	b.calls[id].count++
}

func (b *BMC) end(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls[id].count--; b.calls[id].count == 0 {
		delete(b.calls, id)
	}
}

// lookup is the driver's.
func (b *BMC) lookup(_ context.Context, id string) (bmc.Config, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.calls[id]
	if !ok {
		return bmc.Config{}, fmt.Errorf("no call for node %s is under way", id)
	}
	return c.config, nil
}
