package powersync

import (
	"context"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// caller makes driver calls, one at a time, for one goroutine. It makes them in
// a goroutine beside it, which it leaves behind with a call that does not
// return. It must be closed.
type caller struct {
	driver   Driver
	timeout  time.Duration
	counters *counters
	watch    *watchdog
	arm      *arm // nil until it is needed
}

// arm is the goroutine that makes the calls.
type arm struct {
	calls   chan call
	answers chan answer // of the calls, and of the watchdog where one is late
	done    chan struct{}
}

type call struct {
	ctx    *callContext
	number int
	op     op
	id     string
	power  states.Power
}

type op uint8

const (
	opValidate op = iota
	opRead
	opSet
)

type answer struct {
	number int // the call's
	late   bool
	power  states.Power
	err    error
}

// newCaller returns a caller for calls under a context or its children.
func (s *Syncer) newCaller(ctx context.Context) *caller {
	return &caller{
		driver:   s.config.Driver,
		timeout:  s.config.Timeout,
		counters: &s.counters,
		watch:    newWatchdog(ctx, s.config.Timeout),
	}
}

func (c *caller) close() {
	c.watch.close()
	if c.arm != nil {
		close(c.arm.calls)
		<-c.arm.done
	}
}

// validate returns nil where the driver cannot tell.
func (c *caller) validate(ctx context.Context, id string) error {
	if _, ok := c.driver.(Validator); !ok {
		return nil
	}
	_, err := c.call(ctx, call{op: opValidate, id: id})
	return err
}

// read returns PowerOn, PowerOff or an error.
func (c *caller) read(ctx context.Context, id string) (states.Power, error) {
	c.counters.reads.Add(1)
	power, err := c.call(ctx, call{op: opRead, id: id})
	switch {
	case err != nil:
		return states.NoPower, err
	case power != states.PowerOn && power != states.PowerOff:
		return states.NoPower, fmt.Errorf("%w: it is %q", errNoPower, power)
	default:
		return power, nil
	}
}

func (c *caller) set(ctx context.Context, id string, power states.Power) error {
	c.counters.sets.Add(1)
	_, err := c.call(ctx, call{op: opSet, id: id, power: power})
	return err
}

// call makes a call and waits for its answer while the context and the timeout
// last, and a little longer: a driver that notices may have something to say.
func (c *caller) call(ctx context.Context, k call) (states.Power, error) {
	if err := ctx.Err(); err != nil {
		return states.NoPower, err
	}
	k.ctx = newCallContext(ctx, c.timeout)
	defer k.ctx.end()
	if c.arm == nil {
		c.arm = newArm(c.driver)
	}
	k.number = c.watch.begin(k.ctx.deadline, c.arm.answers)
	defer c.watch.end()
	c.arm.calls <- k

	a := <-c.arm.answers
	for a.number != k.number { // the watchdog was late itself
		a = <-c.arm.answers
	}
	if !a.late {
		return a.power, a.err
	}
	c.counters.abandoned.Add(1)
	close(c.arm.calls)
	c.arm = nil
	if err := ctx.Err(); err != nil {
		return states.NoPower, err
	}
	return states.NoPower, fmt.Errorf("no answer in %v: %w", c.timeout, context.DeadlineExceeded)
}

func newArm(driver Driver) *arm {
	a := &arm{
		calls:   make(chan call),
		answers: make(chan answer, 3), // a call's, the watchdog's, and one of its from before
		done:    make(chan struct{}),
	}
	go func() {
		defer close(a.done)
		for k := range a.calls {
			a.answers <- k.on(driver)
		}
	}()
	return a
}

func (k call) on(driver Driver) (a answer) {
	a.number = k.number
	defer recoverTo(&a.err)
	switch k.op {
	case opValidate:
		a.err = driver.(Validator).Validate(k.ctx, k.id)
	case opRead:
		a.power, a.err = driver.PowerState(k.ctx, k.id)
	case opSet:
		a.err = driver.SetPower(k.ctx, k.id, k.power)
	}
	return a
}
