package powersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ironstate/ironstate/states"
)

// SetOption changes how [Syncer.Set] goes about a request.
type SetOption func(*request)

// FallBack makes a soft request that fails, or whose power state is not reached
// in time, a hard one: PowerOff after PowerSoftOff, PowerRebooting after
// PowerSoftRebooting. Without it a soft request that fails has failed.
func FallBack() SetOption { return func(r *request) { r.fallBack = true } }

// Within bounds the wait for the power state in place of [Config.Timeout] and
// [Config.SoftTimeout]. It must be positive, otherwise it is not heeded.
func Within(d time.Duration) SetOption { return func(r *request) { r.within = d } }

type request struct {
	id       string
	power    states.Power
	fallBack bool
	within   time.Duration // 0 stands for the configured one
}

// Set changes a node's power on somebody's behalf: PowerOn, PowerOff,
// PowerRebooting, PowerSoftOff or PowerSoftRebooting. It reserves the node, sets
// its target power state, asks the hardware, waits until it reaches what was
// asked for, and records that. Hardware that is there already is not asked, and
// a machine that is off is switched on instead of restarted. Whether a machine
// has restarted cannot be seen: it counts as through when it is on.
//
// The node is as it was when the error is [ErrRequest], [ErrNotFound], a
// [*RefusedError] (in cleaning and clean wait), [ErrLocked], the Driver's
// [Validator]'s, or the store's. With any other error, [ErrNotReached] among
// them, the request failed: the recorded power state is what it was, the last
// error says why, and the node is not put into maintenance. What matches
// [ErrNotSaved] besides could not be stored yet.
//
// A context that ends is such a failure too; what the hardware has taken by then
// it will do.
func (s *Syncer) Set(ctx context.Context, id string, power states.Power, options ...SetOption) error {
	q := request{id: id, power: power}
	for _, option := range options {
		option(&q)
	}
	if power.Target() == states.NoPower {
		return fmt.Errorf("node %s: %w: %q", id, ErrRequest, power)
	}
	c := s.newCaller(ctx)
	defer c.close()

	recorded, err := s.take(ctx, c, q)
	if err != nil {
		return err
	}
	e := Event{ID: id, Outcome: PowerSet, Recorded: recorded, Asked: power}
	edit := func(r *Record) { r.Power = power.Target() }
	if err = s.change(ctx, c, q); err != nil {
		err = fmt.Errorf("node %s: request for %q failed: %w", id, power, err)
		e.Outcome = PowerNotSet
		edit = func(r *Record) { r.LastError = err.Error() }
	}
	e.Err = errors.Join(err, s.release(ctx, id, edit))
	s.tell(ctx, e)
	return e.Err
}

// take holds the node of a request and returns the power state recorded for it.
func (s *Syncer) take(ctx context.Context, c *caller, q request) (states.Power, error) {
	for range maxLooks {
		r, err := s.store.load(ctx, q.id)
		if err != nil {
			return states.NoPower, fmt.Errorf("node %s: %w", q.id, err)
		}
		if err := r.allows(q.power); err != nil {
			return states.NoPower, err
		}
		if err := c.validate(ctx, q.id); err != nil {
			return states.NoPower, fmt.Errorf("node %s: %w", q.id, err)
		}
		r.LastError = ""
		err = s.hold(ctx, r, q.power.Target())
		if err == nil {
			return r.Power, nil
		}
		if !errors.Is(err, ErrConflict) {
			return states.NoPower, fmt.Errorf("node %s: %w", q.id, err)
		}
	}
	return states.NoPower, fmt.Errorf("node %s: %w: its record keeps changing", q.id, ErrLocked)
}

// allows returns why a node's power cannot be changed now, nil if it can.
func (r *Record) allows(power states.Power) error {
	switch {
	case r.ProvisionState == states.Cleaning, r.ProvisionState == states.CleanWait:
		return &RefusedError{ID: r.ID, State: r.ProvisionState, Power: power}
	case r.Reservation != "":
		return fmt.Errorf("node %s: %w by %s", r.ID, ErrLocked, r.Reservation)
	case r.TargetPower != states.NoPower:
		return fmt.Errorf("node %s: %w: it is on its way to %q", r.ID, ErrLocked, r.TargetPower)
	default:
		return nil
	}
}

// change has the hardware do what a request asks for, and waits for it.
func (s *Syncer) change(ctx context.Context, c *caller, q request) error {
	target := q.power.Target()
	restart := q.power == states.PowerRebooting || q.power == states.PowerSoftRebooting
	now, err := c.read(ctx, q.id)
	switch {
	case err != nil && !restart:
		return err
	case now == target && !restart:
		return nil
	case now == states.PowerOff && restart:
		q.power = states.PowerOn
	}
	hard, soft := hardOf[q.power]
	if !soft {
		return s.ask(ctx, c, q, s.config.Timeout)
	}
	err = s.ask(ctx, c, q, s.config.SoftTimeout)
	if err == nil || !q.fallBack || ctx.Err() != nil {
		return err
	}
	q.power = hard
	if hardErr := s.ask(ctx, c, q, s.config.Timeout); hardErr != nil {
		return errors.Join(hardErr, fmt.Errorf("before that, softly: %w", err))
	}
	return nil
}

// hardOf has the soft requests and what they fall back to.
var hardOf = map[states.Power]states.Power{
	states.PowerSoftOff:       states.PowerOff,
	states.PowerSoftRebooting: states.PowerRebooting,
}

// ask asks the hardware for a power state and polls until it is reached. What
// cannot be read meanwhile is no failure yet: BMCs are busy then.
func (s *Syncer) ask(ctx context.Context, c *caller, q request, within time.Duration) error {
	if err := c.set(ctx, q.id, q.power); err != nil {
		return err
	}
	if q.within > 0 {
		within = q.within
	}
	wait, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	target := q.power.Target()
	seen := error(nil)
	for {
		now, err := c.read(wait, q.id)
		switch {
		case err == nil && now == target:
			return nil
		case err == nil:
			seen = fmt.Errorf("it is in %q", now)
		case wait.Err() == nil || seen == nil:
			seen = err
		}
		if !sleep(wait, s.config.Poll) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %q within %v: %w", ErrNotReached, target, within, seen)
}
