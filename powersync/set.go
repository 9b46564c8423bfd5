package powersync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ironstate/ironstate/states"
)

type request struct {
	id     string
	power  states.Power
	within time.Duration // 0 stands for the configured one
}

// Set carries out a power request: PowerOn, PowerOff, PowerRebooting, PowerSoftOff or
// PowerSoftRebooting. It reserves the node, sets its target power state, clears its
// last error, sets the hardware, waits until the hardware has reached the power state,
// and records it. Hardware that is already in that power state is not set, and a
// machine that is off is switched on instead of restarted. A restart cannot be
// observed: it counts as done when the machine is on. The timeout bounds the wait for
// the power state, as that of Ironic's API does; 0 or less stands for [Config.Timeout],
// or [Config.SoftTimeout] for a soft request.
//
// The node is unchanged if the error is a [*RefusedError] (in cleaning and clean wait,
// if the node forbids power off, or for any other value of power), [ErrNotFound],
// [ErrLocked], or an error of the Driver's [Validator] or of the store. After any other
// error, such as [ErrNotReached], the request has failed: the recorded power state is
// unchanged, the last error has the cause, and the node is not put into maintenance. An
// error that also matches [ErrNotSaved] says that this could not be stored yet.
//
// A request also fails if its context ends; the hardware may still carry out a request
// that it has accepted by then.
func (s *Syncer) Set(ctx context.Context, id string, power states.Power, timeout time.Duration) error {
	finish, err := s.Begin(ctx, id, power, timeout)
	if err != nil {
		return err
	}
	return finish(ctx)
}

// Begin is the first half of [Syncer.Set], for a service that answers its client
// with "accepted" at once: it returns once the node is reserved and its target power
// state is stored, and refuses the same requests as Set. finish is the second half: it
// sets the hardware, waits, and returns Set's other errors.
//
// No goroutine works on the request in between. The caller must call finish, in a
// goroutine that it waits for before the program ends, with a context that outlives the
// client's; until then the node stays reserved. If that context has ended, finish
// abandons the request. A second call does nothing and returns the error of the first.
func (s *Syncer) Begin(
	ctx context.Context, id string, power states.Power, timeout time.Duration,
) (finish func(context.Context) error, err error) {
	q := request{id: id, power: power, within: max(timeout, 0)}
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if power.Target() == states.NoPower {
		return nil, &RefusedError{ID: id, Power: power}
	}
	before, err := s.take(ctx, q)
	if err != nil {
		return nil, err
	}
	accepted := Event{ID: id, Outcome: PowerRequested, Recorded: before.Power, Asked: power, ClearedError: before.LastError}
	s.reporter.emit(ctx, accepted)
	var once sync.Once
	return func(ctx context.Context) error {
		if err := s.usable(ctx); err != nil {
			return err // nothing is done, and finish can be called again
		}
		once.Do(func() { err = s.finish(ctx, q, before) })
		return err
	}, nil
}

// finish carries a request out and releases the node.
func (s *Syncer) finish(ctx context.Context, q request, before Record) error {
	err := s.change(ctx, q)
	_, e := SettleRequest(before, q.power, err)
	e.LastError, e.ClearedError = "", ""
	e, unsaved := s.holds.release(ctx, e, func(r Record) (Record, Event) { return SettleRequest(r, q.power, err) })
	if unsaved != nil {
		e.Err = errors.Join(e.Err, unsaved)
	}
	s.reporter.emit(ctx, e)
	return e.Err
}

// take reserves the node of a request and returns the record that it had before.
func (s *Syncer) take(ctx context.Context, q request) (Record, error) {
	for range maxReloads {
		r, err := s.tryTake(ctx, q)
		if !errors.Is(err, ErrConflict) {
			return r, err
		}
	}
	return Record{}, fmt.Errorf("node %s: %w: its record keeps changing", q.id, ErrLocked)
}

func (s *Syncer) tryTake(ctx context.Context, q request) (Record, error) {
	r, err := s.holds.loadFree(ctx, q.id)
	if err != nil {
		return r, fmt.Errorf("node %s: %w", q.id, err)
	}
	held, err := Accept(r, q.power)
	if err != nil {
		return r, err
	}
	if err := s.driver.validate(ctx, q.id); err != nil {
		return r, fmt.Errorf("node %s: %w", q.id, err)
	}
	if !s.holds.claim(q.id) {
		return r, fmt.Errorf("node %s: %w by %s", q.id, ErrLocked, s.config.Name)
	}
	if err := s.holds.reserve(ctx, r, held); err != nil {
		return r, fmt.Errorf("node %s: %w", q.id, err)
	}
	return r, nil
}

// change makes the hardware carry a request out, and waits for it.
func (s *Syncer) change(ctx context.Context, q request) error {
	ask, err := DecideRequest(q.power, s.driver.read(ctx, q.id, false))
	if err != nil || ask == states.NoPower {
		return err
	}
	q.power = ask
	within := s.config.Timeout
	if q.power == states.PowerSoftOff || q.power == states.PowerSoftRebooting {
		within = s.config.SoftTimeout
	}
	return s.reach(ctx, q, cmp.Or(q.within, within))
}

// reach sets the hardware and polls until it is in the power state. A read that fails
// meanwhile is no failure of the request: BMCs may be busy then.
func (s *Syncer) reach(ctx context.Context, q request, within time.Duration) error {
	if err := s.driver.set(ctx, q.id, q.power); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	target := q.power.Target()
	seen := error(nil)
	for {
		now, err := s.driver.read(wait, q.id, false).known()
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
